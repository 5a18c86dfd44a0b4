// What the calls of all ranks wait for. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "hang/message_match.hpp"
#include "hang/rank_calls.hpp"
#include "hang/wait_graph.hpp"

namespace cairn::hang {

struct Waits {
  WaitGraph graph;
  // Of ranks that have entered a collective with another call, or another root, than most: each such need once.
  std::vector<std::size_t> mismatches;
  // Of ranks that are in a collective which all have entered, or in a send and a receive that fit: it is up to MPI.
  RankSet in_transfer;
  // By rank: why it is not known for what it waits, though it is in a call. Such a rank has no waits.
  std::vector<std::optional<Gap>> gaps;
};

// By rank; null: nothing is known of it, or it is in no call any more.
using CallsByRank = std::vector<const RankCalls*>;

class WaitFinder {
 public:
  // `halted`: those that are stopped or dead, and take no further part in what they are in; first the ranks, then the
  // heads that are processes of their own.
  WaitFinder(const CallsByRank& ranks, const RankSet& halted);
  [[nodiscard]] Waits find();

 private:
  // A collective as some ranks have entered it.
  struct Side {
    std::uint64_t comm = 0;
    std::uint64_t number = 0;
    Entered entered;
    friend auto operator<=>(const Side&, const Side&) = default;
  };
  using Needs = std::vector<std::size_t>;
  using Asked = std::function<bool(const RankCalls&)>;

  void find_of(const RankCalls& calls);
  [[nodiscard]] Wait wait_of(const RankCalls& calls, const LastingCall& lasting);
  [[nodiscard]] Wait wait_of_poll(const RankCalls& calls);
  // And for these requests; for nobody, if it waits for any of them and one continues.
  [[nodiscard]] Wait with_requests(const RankCalls& calls, const std::vector<Call>& requests, Wait wait);
  void add_needs(const RankCalls& calls, const Call& call, Wait& to);
  [[nodiscard]] std::optional<Need> message_need(const RankCalls& calls, const Call& call) const;
  [[nodiscard]] std::size_t any_need(const RankCalls& calls, const Call& call);
  [[nodiscard]] bool is_short_of_messages(const RankCalls& calls, const Call& call) const;
  [[nodiscard]] const Needs& collective_needs(const Side& side);
  // Of a call that all ranks make. What ranks without a file do counts only if no other rank is the cause.
  [[nodiscard]] Needs needs_of_all(const Call& call, const Asked& has_begun, const Asked& is_inside);
  void add_finalize_needs();
  [[nodiscard]] const Needs& cairn_needs(const Call& call);
  [[nodiscard]] Needs needs_of_ranks(const Call& call);
  void add_heads_of(const Call& call, Needs& needs);
  void add_missing(const Side& side, Needs& needs);
  void add_halted(const Side& side, Needs& needs);
  void add_unknown(const Side& side, Needs& needs);
  void add_not_progressed(const Side& side, Needs& needs);
  void add_mismatches(const Side& side, Needs& needs);
  [[nodiscard]] std::map<Entered, std::vector<std::uint32_t>> sides_of(const Side& side) const;
  [[nodiscard]] std::vector<std::uint32_t> possible_members(std::uint64_t comm) const;
  [[nodiscard]] static bool is_in(const RankCalls& calls, const Side& side);
  std::size_t add(Need need);

  [[nodiscard]] bool is_answered_by(const RankCalls& other, const Call& call, Rank of) const;
  [[nodiscard]] OtherSide other_side_at(const RankCalls& other, const Call& call, const RankCalls& of) const;

  const CallsByRank& ranks_;
  const RankSet& halted_;
  std::map<std::uint64_t, std::vector<std::uint32_t>> members_;  // that are seen, by communicator
  std::vector<std::uint32_t> unseen_;
  std::vector<std::uint32_t> incomplete_;  // whose file had no place for some communicators
  std::map<std::pair<std::uint64_t, std::optional<Gap>>, std::size_t> any_needs_;
  std::map<Side, Needs> collective_needs_;
  std::optional<Needs> finalize_needs_;
  std::map<std::pair<CairnCall, std::uint64_t>, Needs> cairn_needs_;
  std::set<std::tuple<std::uint64_t, std::uint64_t, Entered>> told_;
  Waits found_;
};

}  // namespace cairn::hang
