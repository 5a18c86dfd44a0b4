// One checkpoint name: a Cairn job of its own, and its session in this process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <cairn/cairn.hpp>

#include "door/veloc/history.hpp"
#include "door/veloc/meeting.hpp"

namespace cairn::door {

// The bytes of a region with this id.
struct Piece {
  int id = 0;
  void* data = nullptr;
  std::uint64_t bytes = 0;
  friend bool operator==(const Piece&, const Piece&) = default;
};

// What this rank has in a version. `file`: the path of its file; empty: it has none.
struct Content {
  std::vector<Piece> pieces;
  std::string file;
};

// The names of regions in the snapshots.
[[nodiscard]] std::string region_of(int id);
inline constexpr const char* kFileRegion = "file";

class Job {
 public:
  // Opens the session with the configuration file at `config`, and learns which versions there are: at most
  // `most_versions`. Collective over the meeting, which outlives the job. Throws: cairn::Exception.
  Job(const Meeting& meeting, std::string name, const std::string& config, std::size_t most_versions);

  [[nodiscard]] const std::string& name() const { return name_; }
  // Versions that can be read. After the program has continued from an older one, newer ones are among them until
  // take().
  [[nodiscard]] const History& history() const { return history_; }
  // The history does not have it any more.
  void forget(int version) { history_.drop(version); }

  // Takes a snapshot. Collective. Throws: cairn::Exception.
  void take(int version, const Content& content);
  // Opens a version for reading. After an error, the history does not have it any more. Collective.
  // Throws: cairn::Exception.
  [[nodiscard]] OpenSnapshot open(int version);
  // The program continues from this snapshot: the next one does not belong together with those that were taken after
  // it. Throws: cairn::Exception. Local.
  void continue_from(const OpenSnapshot& open);

  // Waits until the newest snapshot has reached its levels. Collective. Throws: its error, once.
  void wait();
  // Collective. Throws: cairn::Exception.
  void finalize();
  [[nodiscard]] bool has_taken() const { return newest_ > 0; }  // a snapshot, in this process
  // Whether the newest snapshot has reached this level. Local.
  [[nodiscard]] bool has_reached(LevelId level);

 private:
  void protect(const Content& content);
  void learn_history();

  std::string name_;
  std::size_t most_versions_;
  std::vector<std::int64_t> table_;  // the history, as a region
  std::unique_ptr<Session> session_;
  History history_;
  History branch_;  // of the snapshot that was taken last, or from which the program continues
  std::map<std::string, Piece> protected_;
  std::string file_;
  std::uint32_t newest_ = 0;    // Cairn's number of the last snapshot
  std::uint32_t reported_ = 0;  // the one whose error wait() has thrown
};

}  // namespace cairn::door
