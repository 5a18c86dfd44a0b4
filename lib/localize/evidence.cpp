#include "localize/evidence.hpp"

#include <algorithm>
#include <utility>

namespace cairn::localize {
namespace {

constexpr std::size_t kReportsKept = 8;

}  // namespace

void Evidence::add(const Observation& observation) {
  if (!cases_.contains(observation.suspect.node)) make_room();
  Case& about = cases_[observation.suspect.node];
  about.newest = std::max(about.newest, observation.last);
  const auto found = std::ranges::find_if(about.entries, [&](const Entry& entry) {
    return entry.seen.kind == observation.kind && entry.seen.suspect == observation.suspect &&
           entry.seen.reporter == observation.reporter;
  });
  if (found != about.entries.end()) return merge(*found, observation);
  if (about.entries.size() == kMostObservations) {
    about.entries.erase(
        std::ranges::min_element(about.entries, {}, [](const Entry& entry) { return entry.seen.last; }));
  }
  about.entries.push_back({observation, {observation.reported}});
}

void Evidence::merge(Entry& entry, const Observation& observation) const {
  Observation& seen = entry.seen;
  if (std::ranges::find(entry.reported, observation.reported) != entry.reported.end()) {
    seen.count = std::max(seen.count, observation.count);
    return;
  }
  if (entry.reported.size() == kReportsKept) entry.reported.erase(entry.reported.begin());
  entry.reported.push_back(observation.reported);
  const bool late = observation.last + window_ < seen.first;
  if (late) return;
  if (observation.first > seen.last + window_) {
    seen = observation;
    return;
  }
  seen.first = std::max(std::min(seen.first, observation.first), std::max(seen.last, observation.last) - window_);
  seen.last = std::max(seen.last, observation.last);
  seen.reported = std::max(seen.reported, observation.reported);
  seen.count += observation.count;
  seen.worst = worse_measure(seen.kind, seen.worst, observation.worst);
  if (!observation.note.empty()) seen.note = observation.note;
}

bool Evidence::age(Case& about, Time now) const {
  std::erase_if(about.entries, [&](const Entry& entry) { return entry.seen.last + window_ < now; });
  return about.entries.empty();
}

void Evidence::make_room() {
  if (cases_.size() < kMostSuspects) return;
  cases_.erase(std::ranges::min_element(cases_, {}, [](const auto& entry) { return entry.second.newest; }));
}

std::vector<Observation> Evidence::take(NodeId node) {
  std::vector<Observation> all;
  if (const auto found = cases_.find(node); found != cases_.end()) {
    for (const Entry& entry : found->second.entries) all.push_back(entry.seen);
    cases_.erase(found);
  }
  return all;
}

std::vector<NodeId> Evidence::suspects() const {
  std::vector<NodeId> nodes;
  for (const auto& [node, about] : cases_) nodes.push_back(node);
  return nodes;
}

std::vector<Observation> Evidence::all() const {
  std::vector<Observation> all;
  for (const auto& [node, about] : cases_) {
    for (const Entry& entry : about.entries) all.push_back(entry.seen);
  }
  return all;
}

std::vector<Group> Evidence::groups(NodeId node) const {
  const auto found = cases_.find(node);
  if (found == cases_.end()) return {};
  Group all;
  for (const Entry& entry : found->second.entries) all.push_back(entry.seen);
  std::ranges::stable_sort(all, {}, &Observation::first);
  std::vector<Group> groups;
  Time newest{};
  for (Observation& observation : all) {
    if (groups.empty() || observation.first > newest + window_) groups.emplace_back();
    newest = std::max(newest, observation.last);
    groups.back().push_back(observation);
  }
  return groups;
}

double Evidence::weight(const Group& group, const RuleSet& rules) const {
  Time newest{};
  for (const Observation& observation : group) newest = std::max(newest, observation.last);
  double weight = 0;
  for (const Observation& observation : group) {
    if (observation.last + window_ < newest) continue;
    weight += rules.weight(observation.kind) * std::min(observation.count, kMostRepeats);
  }
  return weight;
}

std::size_t Evidence::size() const {
  std::size_t all = 0;
  for (const auto& [node, about] : cases_) all += about.entries.size();
  return all;
}

Suspect suspect_of(const Group& group) {
  Suspect suspect{group.front().suspect.node, std::nullopt};
  std::map<Rank, std::uint32_t> known;
  for (const Observation& observation : group) {
    if (observation.suspect.rank) known[*observation.suspect.rank] += observation.count;
  }
  if (known.empty()) return suspect;
  suspect.rank = std::ranges::max_element(known, {}, [](const auto& entry) { return entry.second; })->first;
  return suspect;
}

}  // namespace cairn::localize
