#include "session/restore_exchange.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "comm/counting_comm.hpp"
#include "level/strike.hpp"
#include "reshape/plan.hpp"
#include "reshape/transfer.hpp"
#include "session/offered_shards.hpp"

namespace cairn {
namespace {

// Of all ranks. A number that must be equal everywhere has its complement too, which gives the lowest.
class Survey {
 public:
  void note_call(std::uint64_t call) { note_both(kCall, call); }
  void note_shards(const OfferedShards& shards) {
    values_[kDamaged] = shards.is_damaged() ? 1 : 0;
    for (const ShardFile& shard : shards.files()) note_both(kSafePoint, shard.header().safe_point);
  }
  void note_exchange(bool is_needed) { values_[kExchange] = is_needed ? 1 : 0; }
  [[nodiscard]] Status take(Comm& ranks) { return ranks.allreduce(values_, Reduce::max); }

  [[nodiscard]] bool has_damage() const { return values_[kDamaged] != 0; }
  [[nodiscard]] bool needs_exchange() const { return values_[kExchange] != 0; }
  [[nodiscard]] bool has_one_call() const { return values_[kCall] == ~values_[kCall + 1]; }
  [[nodiscard]] bool has_one_safe_point() const { return values_[kSafePoint] == ~values_[kSafePoint + 1]; }
  [[nodiscard]] std::uint64_t safe_point() const { return values_[kSafePoint]; }

 private:
  enum : std::size_t { kDamaged, kExchange, kCall, kSafePoint = kCall + 2, kWords = kSafePoint + 2 };
  void note_both(std::size_t word, std::uint64_t value) {
    values_[word] = std::max(values_[word], value);
    values_[word + 1] = std::max(values_[word + 1], ~value);
  }
  std::array<std::uint64_t, kWords> values_{};
};

// While a rank waits for others in a call of the Comm, it does the work of its head. Ends also if a container throws.
class WorkMeanwhile {
 public:
  WorkMeanwhile(Comm& ranks, HeadLink& link) : ranks_(ranks) {
    ranks_.on_wait([&link] { return link.work(); });
  }
  WorkMeanwhile(const WorkMeanwhile&) = delete;
  WorkMeanwhile& operator=(const WorkMeanwhile&) = delete;
  ~WorkMeanwhile() { ranks_.on_wait({}); }

 private:
  Comm& ranks_;
};

Error different_calls() {
  return {Code::mismatch, "some ranks call restore(), others restore() of one region or stored()",
          "all ranks make the same calls in the same order"};
}

Error of_one_region(const std::string& name) {
  return {Code::mismatch,
          "region \"" + name + "\" cannot be restored alone: the snapshot is of other ranks or parts of arrays",
          "call restore() without a name"};
}

// What does not fit; for a mismatch, also of how many ranks the snapshot is, and whether so many could restore it.
Error error_of(const reshape::Finding& finding, const Offer& offer, std::uint32_t ranks) {
  Error error = reshape::error_of(finding);
  if (error.code != Code::mismatch || offer.old_ranks == ranks) return error;
  error.message = fmt::format("version {} was written by {} ranks, this job has {}: {}", offer.snapshot.version.value,
                              offer.old_ranks, ranks, error.message);
  if (reshape::is_of_number(finding))
    error.hint += fmt::format("{}start {} application ranks", error.hint.empty() ? "" : "; or ", offer.old_ranks);
  return error;
}

// An error that is not the fault of a shard of this rank.
Error not_mine(Error error) {
  if (is_of_source(error.code)) error.code = Code::failed_elsewhere;
  return error;
}

// Whether this rank's regions are other elements than those in its own shard. Notes in `shards` if that cannot be read.
// Of many regions, to read and to parse the table takes most of the time of a restore.
bool differs_from_own(Regions& regions, OfferedShards& shards, Rank self) {
  if (shards.files().empty()) return false;
  const auto same = regions.are_as_in(shards.files().front());
  if (!same) {
    shards.note_damaged(self, same.error());
    return false;
  }
  if (*same) return regions.exchange().is_needed_by_kind(self);
  return !shards.shards().empty() && regions.exchange().is_needed(shards.shards().front(), self);
}

enum class OfferCall { restore = 1, restore_one, stored };

struct Exchange {
  enum class Way {
    own_shards,  // each rank reads its own shard
    exchange,
    again,  // shards are damaged: the heads offer the snapshot again
  } way;
  std::uint64_t safe_point;
};

// Finds out what to do with what was offered, the same on all ranks. An error: on all, too. Collective among them.
Result<Exchange> prepare_exchange(SessionState& session, const Offer& offer, OfferedShards& shards, OfferCall call) {
  Survey survey;
  survey.note_call(static_cast<std::uint64_t>(call));
  const bool of_other_ranks = offer.old_ranks != session.size();
  if (of_other_ranks) (void)shards.shards();  // finds what is damaged
  survey.note_exchange(of_other_ranks || differs_from_own(session.application.regions, shards, session.rank()));
  survey.note_shards(shards);
  if (auto status = survey.take(session.ranks()); !status) return fail(status.error());
  if (!survey.has_one_call()) return fail(different_calls());
  if (survey.has_damage()) return Exchange{Exchange::Way::again, 0};
  if (!survey.needs_exchange()) return Exchange{Exchange::Way::own_shards, 0};
  if (!survey.has_one_safe_point())
    return fail(Code::mismatch, "the shards of the snapshot are of several safe points");
  return Exchange{Exchange::Way::exchange, survey.safe_point()};
}

// Collective among the ranks. What does not fit is the same on all.
Result<reshape::Findings> move_regions(SessionState& session, Comm& ranks, const Offer& offer, OfferedShards& shards) {
  auto wanted = session.application.regions.wanted();
  if (auto status = agree(ranks, wanted ? Status{} : fail(wanted.error()), "rank"); !status)
    return fail(status.error());
  const reshape::Input input{offer.old_ranks, shards.old_ranks(), *std::move(wanted),
                             [&shards](Rank rank) { return shards.reach(rank); }};
  const auto planned = [&] {
    const auto span = session.connection->trace.span("plan exchange", offer.snapshot.version.value);
    const WorkMeanwhile meanwhile(ranks, session.link());
    return reshape::plan_reshape(ranks, input);
  }();
  if (!planned) return fail(planned.error());
  if (planned->finding) return planned->finding;
  const auto span = session.connection->trace.span("move regions", offer.snapshot.version.value);
  reshape::Transfer transfer(ranks, planned->plan);
  Result<bool> over = false;
  int moves = 0;
  const auto is_over = [&] {
    constexpr int kMostAtOnce = 64;  // then the head's messages are read
    moves = 0;
    do {
      over = transfer.advance();
    } while (over && !*over && transfer.has_moved() && ++moves < kMostAtOnce);
    return !over || *over;
  };
  const HeadLink::Wait wait{
      .call = "restore()", .woken_by = HeadLink::WokenBy::nobody, .moved = [&] { return moves > 0; }};
  if (auto waited = session.link().wait_until(is_over, wait); !waited) return fail(waited.error());
  if (!over) return fail(over.error());
  return reshape::agree_on(ranks, transfer.finding());
}

}  // namespace

std::optional<RestoreResult> exchange_offered(SessionState& session, const Offer& offer, const std::string& only,
                                              std::uint64_t& calls) {
  auto span = session.connection->trace.span("exchange", offer.snapshot.version.value);
  OfferedShards shards(*session.connection->local, offer);
  const auto exchange =
      prepare_exchange(session, offer, shards, only.empty() ? OfferCall::restore : OfferCall::restore_one);
  if (!exchange) return RestoreResult{exchange.error(), {}, {}};
  if (exchange->way == Exchange::Way::own_shards) {
    span.drop();
    return std::nullopt;
  }
  // The heads look for other sources of what is damaged, and offer the snapshot again.
  if (exchange->way == Exchange::Way::again) return shards.is_damaged() ? shards.refused() : RestoreResult{};
  const Topology& topology = session.connection->membership->topology;
  const auto is_elsewhere = [&](Peer rank) {
    return topology.node_of_world[topology.world_of_rank[rank.value].value] != session.connection->membership->node;
  };
  CountingComm ranks(session.ranks(), is_elsewhere);
  const Result<reshape::Findings> moved =
      only.empty() ? move_regions(session, ranks, offer, shards) : fail(of_one_region(only));
  const bool is_unfit = moved && *moved;
  Status done = moved ? Status{} : fail(moved.error());
  if (is_unfit) done = fail(error_of(**moved, offer, session.size()));
  if (done) done = session.application.regions.prepare_files();
  // If something is damaged, a mismatch does not matter: another snapshot may match.
  if (!done && done.error().code != Code::communication) shards.check_all();
  RestoreResult result;
  if (shards.is_damaged()) {
    result = shards.refused();
  } else if (!done) {
    result.error = not_mine(done.error());
    result.same_on_all = is_unfit;
  } else {
    calls = exchange->safe_point;
  }
  result.sent_bytes = ranks.sent_bytes();
  return result;
}

std::optional<RestoreResult> look_for_exchange(SessionState& session, const Offer& offer, StoredRegions& found) {
  OfferedShards shards(*session.connection->local, offer);
  const auto exchange = prepare_exchange(session, offer, shards, OfferCall::stored);
  if (!exchange) return RestoreResult{exchange.error(), {}, {}};
  if (exchange->way == Exchange::Way::again) return shards.is_damaged() ? shards.refused() : RestoreResult{};
  if (offer.old_ranks == session.size()) return std::nullopt;
  shards.check_all();
  if (shards.is_damaged()) return shards.refused();
  for (const Shard& shard : shards.shards()) add(shard, found);
  return std::nullopt;
}

}  // namespace cairn
