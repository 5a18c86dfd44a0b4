#include "engine/restore_desk.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cairn {

// Ranks ask; the heads bring shards home and offer them; ranks read them and answer; the heads agree.
Result<bool> RestoreDesk::answer() {
  if (const auto error = seals_.take_different_calls()) {
    refuse(head_.left ? error_of(*head_.left).in("restore is refused") : *error);
    return true;
  }
  if (head_.requests.restore.size() < head_.ranks.size()) return false;
  if (closes()) {
    close_open();
    return true;
  }
  if (!plan_ && !fresh_offered_) {
    if (auto status = offer(); !status) return fail(status.error());
    return true;
  }
  const auto is_through = [this](Rank rank) {
    return head_.requests.restore_results.contains(rank) || head_.requests.has_left(rank);
  };
  if (!std::ranges::all_of(head_.ranks, is_through)) return false;
  if (auto status = conclude(); !status) return fail(status.error());
  return true;
}

// Fails only when a peer is lost.
Status RestoreDesk::offer() {
  const auto span = head_.node.trace.span("answer restore");
  const auto start = std::chrono::steady_clock::now();
  auto offer = prepare_offer();
  if (!offer) {
    if (offer.error().code == Code::communication) return fail(offer.error());
    strike_damaged();
    forget_brought();
    forget_state();
    refuse(offer.error());
    return {};
  }
  log_sources();
  offer->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fresh_offered_ = offer->fresh;
  regions_touched_ |= !offer->fresh && !opening_;
  auto shards = deal_shards();
  for (const Rank rank : head_.ranks) {
    offer->shards = shards[rank];
    offer->beside.clear();
    for (const auto& [other, dealt] : shards) {
      if (other != rank) offer->beside.insert(offer->beside.end(), dealt.begin(), dealt.end());
    }
    offer->level = LevelId::local;
    std::set<std::string> sources;
    for (const OfferedShard& shard : offer->shards) {
      const Delivery& delivery = plan_->deliveries[shard.rank.value];
      if (sources.empty()) offer->level = delivery.level;
      sources.insert(describe_source(head_.node.levels, delivery));
    }
    offer->source = fmt::format("{}", fmt::join(sources, "; "));
    head_.tell(rank, *offer);
  }
  head_.bell->ring(Bell::Who::ranks);
  return {};
}

// Each rank gets its own shard. Shards of another number of ranks that are on this node are dealt to its ranks evenly.
std::map<Rank, std::vector<OfferedShard>> RestoreDesk::deal_shards() const {
  std::map<Rank, std::vector<OfferedShard>> dealt;
  if (!plan_) return dealt;
  if (!plan_->of_other_ranks) {
    const auto is_aside = [&](Rank rank) { return plan_->aside && !plan_->deliveries[rank.value].in_place(); };
    for (const Rank rank : head_.ranks) dealt[rank] = {{rank, is_aside(rank)}};
    return dealt;
  }
  std::vector<OfferedShard> here;
  for (const Delivery& delivery : plan_->deliveries) {
    if (delivery.to.value == head_.node.me.value) here.push_back({delivery.rank, !delivery.in_place()});
  }
  for (std::size_t i = 0; i < here.size(); ++i)
    dealt[head_.ranks[i * head_.ranks.size() / here.size()]].push_back(here[i]);
  return dealt;
}

// Ranks that wait in finalize keep waiting.
void RestoreDesk::refuse(const Error& error) {
  seals_.reopen();
  promoter_.free_slots();
  regions_touched_ = false;
  moved_bytes_ = 0;
  for (const auto& [rank, request] : std::exchange(head_.requests.restore, {}))
    head_.tell(rank, RestoreDone{seals_.last_version(), 0, error});
  head_.bell->ring(Bell::Who::ranks);
}

// Names every shard that came to this node and did not lie in the node's own store.
void RestoreDesk::log_sources() const {
  if (!plan_) return;
  for (const Delivery& delivery : plan_->deliveries) {
    if (delivery.to.value != head_.node.me.value || delivery.in_place()) continue;
    head_.node.log.info("node {}: rank {} of version {} comes from {}", head_.node.me.value, delivery.rank.value,
                        plan_->snapshot.version.value, describe_source(head_.node.levels, delivery));
  }
}

void RestoreDesk::Answers::note_damaged(const NodeContext& node, const Plan& plan, Rank rank) {
  // Another one is not on this node.
  if (rank.value >= plan.deliveries.size() || plan.deliveries[rank.value].to.value != node.me.value) return;
  damaged.push_back(rank);
  strikes.push_back(strike_at_home(node, plan, rank));
}

// What the ranks of this node say of what they were offered.
RestoreDesk::Answers RestoreDesk::take_answers() {
  auto results = std::exchange(head_.requests.restore_results, {});
  Answers answers;
  if (plan_ && !plan_->of_other_ranks && !opening_) {
    // Read now: if the shard cannot be read, another source can still replace it.
    auto safe_point = read_safe_point(*plan_);
    const Rank first = head_.ranks.empty() ? Rank{} : head_.ranks.front();
    if (!safe_point && !results[first].error) results[first] = {safe_point.error(), {}, {first}};
    answers.safe_point = safe_point.value_or(0);
  }
  for (const Rank rank : head_.ranks) {
    // An exception took it out of restore().
    if (head_.requests.has_left(rank)) results[rank].error = Error{Code::failed_elsewhere, "left its session", {}};
  }
  for (auto& [rank, result] : results) {
    moved_bytes_ += result.sent_bytes;
    answers.completes |= result.completes;
    if (!result.destinations.empty()) answers.destinations[rank] = std::move(result.destinations);
    if (result.resized) answers.resized.emplace(rank, std::move(*result.resized));
    const std::optional<Error>& error = result.error;
    if (!error) continue;
    if (is_of_source(error->code) && plan_ && !result.damaged.empty()) {
      for (const Rank damaged : result.damaged) answers.note_damaged(head_.node, *plan_, damaged);
      head_.node.log.warning("rank {}: {}", rank.value, error->text());
    } else {
      answers.complaint = fail(result.same_on_all ? *error : error->in("rank " + std::to_string(rank.value)));
    }
  }
  return answers;
}

Status RestoreDesk::conclude() {
  const auto span = head_.node.trace.span("conclude restore");
  const Answers answers = take_answers();
  Status status;
  if (plan_) {
    // Before complaints of ranks: they mean nothing if the snapshot turns out not to be whole.
    auto again = forget_damaged(head_.heads, retrieval(), answers.damaged, answers.strikes);
    if (again && *again) {
      plan_.reset();
      return {};  // the requests stand: the next step plans again
    }
    strike_damaged();
    if (!again) status = fail(again.error());
  }
  if (status) status = agree(head_.heads, answers.complaint, "node");
  if (status && plan_) {
    if (status = learn_notes(plan_->snapshot); !status) return status;
  }
  if (opening_) {
    if (status) hold();
  } else if (status && plan_ && plan_->of_other_ranks) {
    status = adopt_of_other_ranks(*plan_).and_then([&] { return share(answers); });
  } else if (status && plan_) {
    status = adopt(*plan_, answers.safe_point).and_then([&] { return share(answers); });
    const auto adopted = catalog_.known.find(plan_->snapshot);
    if (adopted != catalog_.known.end()) adopted->second.destinations = answers.destinations;
  } else if (status) {
    catalog_.state.reset();
    catalog_.of_other_ranks.reset();
    status = life_.record_parent(RunRecord::Parent::fresh, {});
  }
  if (!status && status.error().code == Code::communication) return status;
  close(status);
  return {};
}

// All heads learn how many bytes the restore moved between nodes, whether ranks load objects or put files back, and on
// how many ranks of the job it resized containers. The head of the lowest of these ranks logs it for the job.
Status RestoreDesk::share(const Answers& answers) {
  const std::map<Rank, Resized>& here = answers.resized;
  std::array<std::uint64_t, 3> sums{moved_bytes_, here.size(), answers.completes ? 1U : 0U};
  if (auto status = head_.heads.allreduce(sums, Reduce::sum); !status) return status;
  moved_bytes_ = sums[0];
  completes_ = sums[2] != 0;
  const std::uint64_t ranks = sums[1];
  if (ranks == 0) return {};
  std::uint64_t lowest = here.empty() ? ~std::uint64_t{0} : here.begin()->first.value;
  if (auto status = head_.heads.allreduce({&lowest, 1}, Reduce::min); !status) return status;
  resized_ranks_ = static_cast<std::uint32_t>(ranks);
  if (here.empty() || here.begin()->first.value != lowest) return {};
  const Resized& first = here.begin()->second;
  const std::string more = first.more == 0 ? "" : fmt::format(" and {} more", first.more);
  head_.node.log.info("restore() resized regions on {} {}: on rank {} \"{}\" from {} to {} elements{}", ranks,
                      ranks == 1 ? "rank" : "ranks", lowest, first.name, first.elements_before, first.elements_now,
                      more);
  return {};
}

void RestoreDesk::close(const Status& status) {
  forget_brought();
  plan_.reset();
  forget_state();
  fresh_offered_ = false;
  regions_touched_ = false;
  head_.requests.restore.clear();
  seals_.reopen();
  promoter_.free_slots();
  RestoreDone done;
  done.last_version = seals_.last_version();
  done.resized_ranks = std::exchange(resized_ranks_, 0);
  done.moved_bytes = std::exchange(moved_bytes_, 0);
  done.next = std::exchange(next_, {});
  done.completes = std::exchange(completes_, false);
  done.notes = std::exchange(notes_, {});
  if (!status) done.error = status.error();
  head_.tell_all(done);
}

// Ranks have read what was brought for them, or have it open, or will not: it takes room that the next snapshot may
// need.
void RestoreDesk::forget_brought() {
  if (has_state() && std::exchange(retrieval().brings_aside, false)) remove_brought(head_.node);
}

// A restore that follows an open() finds what it would have found without it.
void RestoreDesk::forget_state() {
  if (opening_)
    opening_.reset();
  else
    catalog_.retrieval.reset();
}

// Files that were found bad during the search for a snapshot no longer count.
void RestoreDesk::strike_damaged() {
  if (!has_state()) return;
  for (const auto& [id, levels] : retrieval().inventory.levels_reached()) {
    if (const auto known = catalog_.known.find(id); known != catalog_.known.end()) known->second.strike(levels.struck);
  }
}

}  // namespace cairn
