// The memory that benchmarks save and copy, and what makes it cold before something is timed. An application changes
// its state between snapshots, and does so in more memory than the caches hold; a state that is left alone and still in
// the caches is copied faster than any application sees.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/bytes.hpp"
#include "common.hpp"

namespace bench {

// A rank's state, and as much memory to copy it to. All of it is touched before anything is timed.
class Buffers {
 public:
  explicit Buffers(std::uint64_t bytes);
  [[nodiscard]] cairn::MutableBytes source() { return source_; }
  [[nodiscard]] cairn::MutableBytes target() { return target_; }
  // Gives every whole word of the source a new value, the same for the same seed. No two words are alike, so that
  // nothing can be compressed.
  void rewrite(std::uint64_t seed);
  void copy();  // source to target

 private:
  cairn::Buffer source_;
  cairn::Buffer target_;
};

// How much more memory this process has had at most than when this object was made. Pages of files do not count, and
// what it had for less than some milliseconds may be missed.
class Peak {
 public:
  Peak();
  [[nodiscard]] double mib() const;

 private:
  double before_;
  std::atomic<double> most_;
  std::jthread looks_;  // last: it uses the others
};

// Memory of this process that has nothing to do with what is timed, larger than the last-level cache.
class Caches {
 public:
  Caches();
  // Changes that memory, so that the caches hold nothing else.
  void displace();

 private:
  std::vector<std::uint64_t> other_;
};

// Times one memory copy of source to target, by rank 0 for all ranks in turn or by all ranks at once.
[[nodiscard]] Span time_copy(const Ranks& ranks, Buffers& buffers, Who who);

}  // namespace bench
