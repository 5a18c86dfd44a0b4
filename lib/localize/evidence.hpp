// The symptoms that one node has collected about others: purified as they arrive, and grouped when asked for. Bounded:
// however many arrive, memory and the time for each stay the same. Pure.
//
// Purified: a symptom that arrives twice counts once, and repeats of one kind from one reporter are one observation
// with a count. A group is what is known about one node with no gap longer than the window: no observation is in two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "localize/fault.hpp"
#include "localize/rules.hpp"

namespace cairn::localize {

inline constexpr std::size_t kMostSuspects = 512;
inline constexpr std::size_t kMostObservations = 128;  // about one node
// A reporter that repeats itself counts at most so many times towards the threshold.
inline constexpr std::uint32_t kMostRepeats = 3;

using Group = std::vector<Observation>;

class Evidence {
 public:
  explicit Evidence(Time window) : window_(window) {}

  // Times are on this node's clock. Of what has no place, the oldest goes.
  void add(const Observation& observation);
  // Leaves out what is older than the window, unless `keep` is true for its node.
  template <class Keep>
  void forget_before(Time now, Keep keep) {
    for (auto one = cases_.begin(); one != cases_.end();) {
      one = !keep(one->first) && age(one->second, now) ? cases_.erase(one) : std::next(one);
    }
  }
  // Everything about the node, which is forgotten.
  [[nodiscard]] std::vector<Observation> take(NodeId node);
  template <class Drop>
  void drop(NodeId node, Drop drop) {
    const auto found = cases_.find(node);
    if (found == cases_.end()) return;
    std::erase_if(found->second.entries, [&](const Entry& entry) { return drop(entry.seen); });
    if (found->second.entries.empty()) cases_.erase(found);
  }

  [[nodiscard]] std::vector<NodeId> suspects() const;
  [[nodiscard]] std::vector<Observation> all() const;
  // Disjoint, the oldest first.
  [[nodiscard]] std::vector<Group> groups(NodeId node) const;
  // What the symptoms of a group that lie within the window before its newest one add up to.
  [[nodiscard]] double weight(const Group& group, const RuleSet& rules) const;
  [[nodiscard]] bool empty() const { return cases_.empty(); }
  [[nodiscard]] std::size_t size() const;

 private:
  struct Entry {
    Observation seen;
    std::vector<Time> reported;  // the newest few, to recognize duplicates
  };
  struct Case {
    std::vector<Entry> entries;
    Time newest{};
  };

  // True: nothing is left.
  bool age(Case& about, Time now) const;
  void make_room();
  void merge(Entry& entry, const Observation& observation) const;

  Time window_;
  std::map<NodeId, Case> cases_;
};

// The suspect of a group: with the rank about which most is known, if ranks are suspected at all.
[[nodiscard]] Suspect suspect_of(const Group& group);

}  // namespace cairn::localize
