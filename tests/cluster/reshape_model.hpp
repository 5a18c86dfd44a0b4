// Jobs that change their number of ranks, drawn from a seed, and what each new rank must have in its memory then. The
// model computes that element by element, from what each element is in the whole job. It uses nothing of reshape/ but
// the types of its input.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "reshape/share.hpp"

namespace cairn::test {

struct OldPart {
  bool there = true;
  RegionInfo info;
  Buffer bytes;
};
struct NewPart {
  bool wanted = true;
  bool resizable = false;
  RegionInfo info;
  reshape::Share share;
  Buffer before;    // of fixed memory
  Buffer expected;  // after
};
struct ModelRegion {
  std::string name;
  std::vector<OldPart> old;  // by old rank
  std::vector<NewPart> now;  // by new rank
};

struct ReshapeJob {
  std::uint32_t old_ranks = 0;
  std::uint32_t new_ranks = 0;
  std::vector<std::uint32_t> holder_of;  // by old rank
  std::vector<ModelRegion> regions;

  [[nodiscard]] ModelRegion& region(const std::string& name);
};

using Random = std::mt19937_64;

// Regions of all kinds: blocks of one to three dimensions, with ghosts; sequences that are cut evenly, in given parts,
// and like others; values of all ranks; values of one.
[[nodiscard]] ReshapeJob draw_job(std::uint64_t seed, std::uint32_t old_ranks, std::uint32_t new_ranks);

// What that old rank has in the snapshot. Refers to the job.
[[nodiscard]] reshape::OldRank old_rank_of(const ReshapeJob& job, Rank rank);

// One new rank's memory, and its input, which refers to the job and to the memory.
class Member {
 public:
  Member(const ReshapeJob& job, std::uint32_t rank);
  // From now on it reaches what members of the same node hold, of so many members each.
  void reach_node(std::uint32_t members_per_node);
  [[nodiscard]] const reshape::Input& input() const { return input_; }
  [[nodiscard]] reshape::Input& input() { return input_; }
  // Names of the regions that have other bytes than expected.
  [[nodiscard]] std::vector<std::string> wrong() const;

 private:
  const ReshapeJob& job_;
  std::uint32_t rank_;
  std::vector<reshape::OldRank> of_node_;
  std::vector<Buffer> memory_;  // of each region of the job
  reshape::Input input_;
};

}  // namespace cairn::test
