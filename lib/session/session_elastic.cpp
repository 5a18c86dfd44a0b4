// A restore in which ranks exchange regions: of a snapshot of another number of ranks, or of other parts of arrays.
// Each rank reads the shards that its head has brought, and gets the elements of its regions from the others
// (reshape/plan).
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
#include "session/session_impl.hpp"

namespace cairn {
namespace {

// Of all ranks. A number that must be equal everywhere has its complement too, which gives the lowest.
class Survey {
 public:
  void note_call(std::uint64_t call) { note_both(kCall, call); }
  void note_shards(const OfferedShards& shards) {
    values_[kDamaged] = shards.is_damaged() ? 1 : 0;
    for (const Shard& shard : shards.shards()) note_both(kSafePoint, shard.header().safe_point);
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

}  // namespace

Result<SessionImpl::Exchange> SessionImpl::prepare_exchange(const Offer& offer, OfferedShards& shards, OfferCall call) {
  Survey survey;
  survey.note_call(static_cast<std::uint64_t>(call));
  survey.note_shards(shards);
  bool needed = offer.old_ranks != size();
  if (!needed && !shards.shards().empty()) needed = application_.regions.need_exchange(shards.shards().front(), rank());
  survey.note_exchange(needed);
  if (auto status = survey.take(ranks()); !status) return fail(status.error());
  if (!survey.has_one_call()) return fail(different_calls());
  if (survey.has_damage()) return Exchange{Exchange::Way::again, 0};
  if (!survey.needs_exchange()) return Exchange{Exchange::Way::own_shards, 0};
  if (!survey.has_one_safe_point())
    return fail(Code::mismatch, "the shards of the snapshot are of several safe points");
  return Exchange{Exchange::Way::exchange, survey.safe_point()};
}

// Nothing: each rank restores from its own shard.
std::optional<RestoreResult> SessionImpl::exchange_offered(const Offer& offer, const std::string& only,
                                                           std::uint64_t& calls) {
  auto span = connection_->trace.span("exchange", offer.snapshot.version.value);
  OfferedShards shards(*connection_->local, offer);
  const auto exchange = prepare_exchange(offer, shards, only.empty() ? OfferCall::restore : OfferCall::restore_one);
  if (!exchange) return RestoreResult{exchange.error(), {}, {}};
  if (exchange->way == Exchange::Way::own_shards) {
    span.drop();
    return std::nullopt;
  }
  // The heads look for other sources of what is damaged, and offer the snapshot again.
  if (exchange->way == Exchange::Way::again) return shards.is_damaged() ? shards.refused() : RestoreResult{};
  const Topology& topology = connection_->membership->topology;
  const auto is_elsewhere = [&](Peer rank) {
    return topology.node_of_world[topology.world_of_rank[rank.value].value] != connection_->membership->node;
  };
  CountingComm ranks(this->ranks(), is_elsewhere);
  const Result<reshape::Findings> moved = only.empty() ? move_regions(ranks, offer, shards) : fail(of_one_region(only));
  const bool is_unfit = moved && *moved;
  Status done = moved ? Status{} : fail(moved.error());
  if (is_unfit) done = fail(error_of(**moved, offer, size()));
  if (done) done = application_.regions.prepare_files();
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

std::optional<RestoreResult> SessionImpl::look_for_exchange(const Offer& offer, StoredRegions& found) {
  OfferedShards shards(*connection_->local, offer);
  const auto exchange = prepare_exchange(offer, shards, OfferCall::stored);
  if (!exchange) return RestoreResult{exchange.error(), {}, {}};
  if (exchange->way == Exchange::Way::again) return shards.is_damaged() ? shards.refused() : RestoreResult{};
  if (offer.old_ranks == size()) return std::nullopt;
  shards.check_all();
  if (shards.is_damaged()) return shards.refused();
  for (const Shard& shard : shards.shards()) add(shard, found);
  return std::nullopt;
}

// Collective among the ranks. What does not fit is the same on all.
Result<reshape::Findings> SessionImpl::move_regions(Comm& ranks, const Offer& offer, OfferedShards& shards) {
  auto wanted = application_.regions.wanted();
  if (auto status = agree(ranks, wanted ? Status{} : fail(wanted.error()), "rank"); !status)
    return fail(status.error());
  const reshape::Input input{offer.old_ranks, shards.old_ranks(), *std::move(wanted),
                             [&shards](Rank rank) { return shards.reach(rank); }};
  const auto planned = [&] {
    const auto span = connection_->trace.span("plan exchange", offer.snapshot.version.value);
    const WorkMeanwhile meanwhile(ranks, link());
    return reshape::plan_reshape(ranks, input);
  }();
  if (!planned) return fail(planned.error());
  if (planned->finding) return planned->finding;
  const auto span = connection_->trace.span("move regions", offer.snapshot.version.value);
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
  if (auto waited = link().wait_until(is_over, wait); !waited) return fail(waited.error());
  if (!over) return fail(over.error());
  return reshape::agree_on(ranks, transfer.finding());
}

}  // namespace cairn
