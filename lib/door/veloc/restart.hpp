// A restart between its begin and its end: an open snapshot, of which this rank reads what it wants. Local.
#pragma once

#include <optional>
#include <string>

#include <cairn/cairn.hpp>

#include "door/veloc/job.hpp"
#include "door/veloc/memory.hpp"

namespace cairn::door {

class Restart {
 public:
  // `path`: where this rank's file will be, if it has one.
  Restart(std::string name, StoredVersion stored, std::string path, OpenSnapshot open);
  ~Restart();
  Restart(const Restart&) = delete;
  Restart& operator=(const Restart&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int version() const { return stored_.version; }
  [[nodiscard]] std::uint64_t bytes_of(int id) const;  // 0: it is not in the version
  // Requires: it has not ended.
  [[nodiscard]] const OpenSnapshot& open() const { return *open_; }

  // Reads chosen regions into the memory of their ids, or gives them to the functions that read them. Requires: it has
  // not ended. Throws: kind `usage`, before it reads anything, if an id is not protected, or its memory is too small.
  // Kind `corrupt` if a function cannot read a region.
  void recover(const Group& group, const Choice& choice) const;
  // Writes this rank's file, the first time, and returns its path. Requires: it has not ended. Throws: kind `usage` if
  // it has none, kind `storage` if it cannot be written.
  [[nodiscard]] const std::string& put_file();
  // The snapshot is not needed any more. The file stays until the restart is destroyed.
  void end() { open_.reset(); }

 private:
  void check(const Group& group, const Choice& choice) const;

  std::string name_;
  StoredVersion stored_;
  std::string path_;
  bool has_put_file_ = false;
  std::optional<OpenSnapshot> open_;
};

}  // namespace cairn::door
