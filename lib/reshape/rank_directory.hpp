// Knows of each old rank which member holds it and how long its regions are. Each member knows a range of the old
// ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reshape/finding.hpp"
#include "reshape/holdings.hpp"
#include "reshape/post.hpp"
#include "reshape/roster.hpp"

namespace cairn::reshape {

class RankDirectory {
 public:
  // Files what each member holds. Collective. An error: a member cannot be reached.
  [[nodiscard]] static Result<RankDirectory> file(Comm& comm, Post& post, const Input& input, const Roster& roster,
                                                  const Holdings& holdings);
  // What of this member's range is missing or is there twice.
  [[nodiscard]] const Findings& finding() const { return finding_; }

  // The lengths of all sequences, by their numbers in the roster; 0 for other regions. Collective. The finding is the
  // same on all members: a sequence that is too long.
  struct Lengths {
    std::vector<std::uint64_t> elements;
    Findings finding;
  };
  [[nodiscard]] Result<Lengths> lengths(Comm& comm, const Roster& roster) const;
  // Of this member's range: an old rank whose numbers of elements do not allow to cut one sequence like another.
  [[nodiscard]] Findings compare_likes(const Roster& roster, const std::vector<std::uint64_t>& lengths) const;
  // Tells all holders where in the sequences the elements of their old ranks are. Collective.
  [[nodiscard]] Status place_sequences(Comm& comm, Post& post, const Roster& roster, Holdings& holdings) const;

  // Where one region of one old rank is. Answers come in the order of the questions.
  struct Question {
    std::uint32_t region = 0;
    Rank old_rank;  // one of the snapshot
  };
  struct Answer {
    Peer holder;
    std::optional<std::vector<std::uint64_t>> shape;  // none: the old rank has no such region
  };
  [[nodiscard]] Result<std::vector<Answer>> ask(Comm& comm, Post& post, const std::vector<Question>& questions) const;

 private:
  struct Filed {
    std::optional<Peer> holder;
    std::vector<std::optional<std::vector<std::uint64_t>>> shapes;  // by number of the region
  };
  [[nodiscard]] Peer member_of(Rank old_rank) const;
  [[nodiscard]] const Filed* find(Rank old_rank) const;
  void take(const Letter& letter, const Roster& roster, Peer self);
  void check(const Roster& roster);
  [[nodiscard]] std::uint64_t elements(const Filed& filed, std::uint32_t region) const;

  std::uint32_t old_ranks_ = 0;
  std::uint32_t members_ = 0;
  std::uint32_t first_ = 0;  // of this member's range
  std::vector<Filed> filed_;
  Findings finding_;
};

}  // namespace cairn::reshape
