// The files of calls that the ranks of a job keep (format/call_record), as they are when it hangs in one way or
// another. Every rank is in the communicator kWorld, has ended kBegun collectives on it, the last one a minute ago, and
// computes. Messages are counted as a rank counts them, unless they have a number already.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "format/call_record.hpp"
#include "hang/hang.hpp"
#include "store/store.hpp"

namespace cairn::test {

inline constexpr std::uint64_t kWorld = 0x51aa003f2a1c;
inline constexpr std::uint64_t kBegun = 811;
inline constexpr double kLong = 42;  // seconds that calls last

struct Said {
  std::string name;
  CallRecord record;
};
[[nodiscard]] Said send(std::int32_t to, std::int32_t tag, const std::string& name = "MPI_Ssend");
[[nodiscard]] Said receive(std::int32_t from, std::int32_t tag, const std::string& name = "MPI_Recv");
[[nodiscard]] Said probe(std::int32_t from, std::int32_t tag);
// Of MPI_Iprobe, in vain so many times in a row.
[[nodiscard]] Said iprobe(std::int32_t from, std::int32_t tag, std::uint64_t times = 1);
// The next collective after those that all have ended, or a further one.
[[nodiscard]] Said collective(const std::string& name, std::int32_t root = kNoPeer, std::uint64_t after = 1);

class SampleCalls {
 public:
  explicit SampleCalls(std::uint32_t ranks, const std::string& host = "node17");

  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(files_.size()); }
  [[nodiscard]] CallFile& of(std::uint32_t rank) { return *files_.at(rank); }
  // Its clock is the monotonic one of this machine, so that ckpt-tool tells the same times.
  [[nodiscard]] std::int64_t now() const { return now_; }

  void lasts(std::uint32_t rank, const Said& said, double seconds = kLong);
  // In `name` for these requests, which it has begun.
  void waits(std::uint32_t rank, const std::string& name, CallKind kind, const std::vector<Said>& requests,
             double seconds = kLong);
  void begins(std::uint32_t rank, const Said& said, std::uint16_t waiter = 0);  // a request
  void did(std::uint32_t rank, const Said& said, double seconds_ago = 50);
  // It has begun so many messages like this one.
  void counts(std::uint32_t rank, const Said& said, std::uint64_t count);
  // Its table of message counters is full: it counts no message that it says from now on.
  void stops_counting(std::uint32_t rank);
  // All ranks but `except` are in it.
  void all_last(const Said& said, const std::vector<std::uint32_t>& except = {}, double seconds = kLong);
  // It is in its so-many-th call of Cairn of this kind, or, with `seconds` 0, has come out of it.
  void in_cairn(std::uint32_t rank, CairnCall call, std::uint64_t number, double seconds = kLong);
  // The heads of the nodes of `size` ranks are processes of their own.
  void has_heads(std::uint32_t size);
  // It gives the communicator of all ranks this name.
  void names_world(std::uint32_t rank, const std::string& name);
  void lose(std::uint32_t rank) { files_.at(rank).reset(); }  // its file

  std::map<std::uint32_t, hang::ProcessFacts> facts;
  std::map<std::uint32_t, hang::ProcessFacts> heads;  // by node
  // As the second reading finds it, if the first one found it as `before`.
  [[nodiscard]] std::vector<hang::RankReading> readings_since(const std::vector<hang::Moment>& before) const;
  // As both readings found it.
  [[nodiscard]] std::vector<hang::RankReading> readings() const;
  [[nodiscard]] hang::HangReport examine(double after = 10) const;
  // As the second reading finds it, if the first one found it as `before`.
  [[nodiscard]] hang::HangReport examine_since(const std::vector<hang::Moment>& before, double after = 10) const;
  [[nodiscard]] std::vector<hang::Moment> moments() const;
  // Its files in a store.
  void write(Store& store) const;

 private:
  std::uint16_t name(std::uint32_t rank, const std::string& name);
  CallRecord record(std::uint32_t rank, const Said& said);
  MessageRecord& counter(std::uint32_t rank, const Said& said);

  std::int64_t now_;
  std::vector<std::unique_ptr<CallFile>> files_;
};

}  // namespace cairn::test
