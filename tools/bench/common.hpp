// What the benchmark programs share: how they start, how their ranks wait for each other and time something together,
// and the records that they write. A record is one line of JSON for one figure, with all its repetitions; table.py
// makes the table from them.
//
// Each rank times every repetition by itself; a figure is the slowest rank's time of each repetition. A function that
// takes a Ranks& is collective over those ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <mpi.h>

#include "base/bytes.hpp"

namespace CLI {
class App;
}

namespace bench {

using Values = std::vector<double>;

// What every program is told.
struct Setting {
  std::string records;            // file to append to
  std::vector<std::string> tags;  // name=value, for every record: facts that the ranks cannot know
  bool threads = false;           // MPI_THREAD_MULTIPLE
};
void add_options(CLI::App& app, Setting& setting);

// Parses, starts MPI, runs `body` on every rank, ends MPI. An exception from `body` ends the whole job with its text.
// Returns the exit code.
int run(int argc, char** argv, CLI::App& app, const Setting& setting, const std::function<void()>& body);

[[nodiscard]] double now();  // seconds of a steady clock
void sleep_for(double seconds);
[[nodiscard]] double median(Values values);  // 0 of none

// When a rank began and ended something; by default, it did nothing.
struct Span {
  double start = std::numeric_limits<double>::infinity();
  double end = -std::numeric_limits<double>::infinity();
};

// The ranks that take part in a measurement.
class Ranks {
 public:
  explicit Ranks(MPI_Comm comm);
  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] std::size_t rank() const { return rank_; }
  [[nodiscard]] std::size_t size() const { return size_; }

  // Returns when all are here, at nearly the same time. Ranks that wait sleep: one that polls would take a core from
  // what is measured.
  void meet() const;
  // Elementwise, on all ranks: the longest of the ranks' times, and from the first start to the last end. What is
  // divided by a limit is taken from the ranks as the limit is.
  [[nodiscard]] Values slowest(Values mine) const;
  [[nodiscard]] Values slowest(const std::vector<Span>& mine) const;
  [[nodiscard]] Values together(const std::vector<Span>& mine) const;
  [[nodiscard]] double from_first(double value) const;
  // On rank 0: over all ranks.
  [[nodiscard]] double sum(double mine) const;

 private:
  void meet_once() const;
  MPI_Comm comm_;
  std::size_t rank_ = 0;
  std::size_t size_ = 1;
};

// One figure. Where `limit` is named, the table divides: time ÷ limit's time, or rate ÷ limit's rate, which for values
// in seconds is the inverse.
struct Figure {
  std::string group = {};
  std::string name = {};
  Values values = {};
  std::string unit = "s";  // or "bytes/s", "cores", "%"
  std::string limit = {};
  Values limit_values = {};  // measured between the values, in the same unit
  Values cpu = {};           // processor seconds of all processes, of each value; none: not measured
  Values limit_cpu = {};     // the same of the limit's values
  bool as_rate = false;
  bool series = false;                       // the values are one after another in time, not repetitions
  std::map<std::string, double> facts = {};  // interval_s, bytes_per_rank …
};

// Appends figures to the file of records; only rank 0 writes.
class Records {
 public:
  Records(const Setting& setting, bool writes) : setting_(setting), writes_(writes) {}
  void add(const Figure& figure) const;

 private:
  const Setting& setting_;
  bool writes_;
};

// Who copies: rank 0 all that the ranks have together, while the others sleep, or every rank its own at once.
enum class Who { one, all };
// Does `step` as many times as there are ranks on rank 0, or once on every rank.
[[nodiscard]] Span time_step(const Ranks& ranks, Who who, const std::function<void()>& step);
// Does `step` as many times as this rank says, which may be none, at the same time as the other ranks.
[[nodiscard]] Span time_turns(const Ranks& ranks, std::size_t turns, const std::function<void()>& step);

// Files as plain writers write them, in pieces of 8 MiB. Throws on errors.
enum class Write { fresh, fresh_synced, over };
void write_file(const std::string& path, cairn::Bytes bytes, Write how);
void remove_file(const std::string& path);

}  // namespace bench
