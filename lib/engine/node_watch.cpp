#include "engine/node_watch.hpp"

#include <algorithm>
#include <utility>

namespace cairn {
namespace {

// With less free processor time than this, whoever wants more does not get it.
constexpr double kBusy = 0.05;
// Fewer packets say nothing about a card, and a single error may be a cable that was moved.
constexpr std::uint64_t kFewestPackets = 1000;
constexpr std::uint64_t kFewestErrors = 10;

double share_of(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

// A counter that has begun again counts as none.
std::uint64_t grown(std::uint64_t before, std::uint64_t now) { return now > before ? now - before : 0; }

// Of the processor time that the job's processes want, which is one processor for each: the share that they did not
// get, as far as others used as much.
double taken_by_others(std::uint64_t all, std::uint64_t free, std::uint64_t own, std::uint32_t processors,
                       std::uint32_t processes) {
  if (all == 0 || processors == 0 || share_of(free, all) > kBusy) return 0;
  const double wanted = std::min(1.0, static_cast<double>(processes) / processors);
  const double got = share_of(own, all);
  const double others = std::max(0.0, 1 - share_of(free, all) - got);
  return wanted > 0 ? std::min(others, std::max(0.0, wanted - got)) / wanted : 0;
}

}  // namespace

std::vector<NodeWatch::Found> NodeWatch::look(const std::optional<Own>& own, Time now) {
  if (!looks_.empty() && now - looks_.back().at < kLookEvery) return {};
  looks_.push_back({now, look_at_host_(), own});
  while (looks_.size() > 2 && now - looks_[1].at >= kOver) looks_.pop_front();
  if (now - looks_.front().at < kOver) return {};
  measure();
  std::vector<Found> found;
  const auto add = [&](const localize::Detected& symptom) {
    if (!symptom) return;
    const auto [last, first] = found_.try_emplace(symptom->kind, now);
    if (!first && now - last->second < kFoundAgain) return;
    last->second = now;
    found.push_back({symptom->kind, symptom->measure});
  };
  const localize::About about{{}, {}, now};
  add(detect_stolen(about, shares_.stolen, limits_));
  add(detect_memory(about, shares_.memory, limits_));
  add(detect_network_errors(about, shares_.network_errors, limits_));
  return found;
}

void NodeWatch::measure() {
  shares_ = {};
  const Look& then = looks_.front();
  const Look& now = looks_.back();
  const auto& before = then.host.processors;
  const auto& after = now.host.processors;
  if (before && after) {
    const std::uint64_t all = grown(before->all, after->all);
    const std::uint64_t free = grown(before->free, after->free);
    shares_.stolen = share_of(grown(before->stolen, after->stolen), all);
    if (after->count > 0) shares_.load = static_cast<double>(after->runnable) / after->count;
    const bool known = then.own && now.own && then.own->processes == now.own->processes;
    if (known) {
      const double others =
          taken_by_others(all, free, grown(then.own->ticks, now.own->ticks), after->count, now.own->processes);
      shares_.stolen = std::max(shares_.stolen, others);
    }
  }
  if (then.host.memory_waits && now.host.memory_waits) {
    const std::chrono::duration<double> waited = *now.host.memory_waits - *then.host.memory_waits;
    shares_.memory = std::clamp(waited / std::chrono::duration<double>(now.at - then.at), 0.0, 1.0);
  }
  for (const auto& [name, card] : now.host.cards) {
    const auto was = then.host.cards.find(name);
    if (was == then.host.cards.end()) continue;
    const std::uint64_t errors = grown(was->second.errors, card.errors);
    const std::uint64_t packets = grown(was->second.packets, card.packets) + errors;
    if (errors >= kFewestErrors && packets >= kFewestPackets)
      shares_.network_errors = std::max(shares_.network_errors, share_of(errors, packets));
  }
}

void NodeWatch::fill(localize::NodeState& state) const {
  state.load = shares_.load;
  state.stolen = shares_.stolen;
  state.memory = shares_.memory;
  state.network_errors = shares_.network_errors;
}

}  // namespace cairn
