// Watches a node's host: whether its processors work for others, whether threads wait for memory, and whether its
// network cards report errors. Each is the share over the last looks, so that what passes quickly is no symptom. Local.
// One thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/host_state.hpp"
#include "base/symptom.hpp"
#include "localize/detect.hpp"
#include "localize/messages.hpp"

namespace cairn {

class NodeWatch {
 public:
  using Time = std::chrono::microseconds;

  // Over which time shares are taken.
  static constexpr std::chrono::seconds kOver{15};
  static constexpr std::chrono::seconds kLookEvery{3};
  // How often the same symptom is found.
  static constexpr std::chrono::seconds kFoundAgain{10};

  // What the job's processes on this host have used so far, if they are all of this node; none: others are, too, or it
  // is not known. Then only what the hypervisor takes counts as stolen.
  struct Own {
    std::uint64_t ticks = 0;
    std::uint32_t processes = 0;
  };

  explicit NodeWatch(LookAtHost look) : look_at_host_(std::move(look)) {}

  // To be called every second: looks when it is time to.
  struct Found {
    SymptomKind kind{};
    double measure = 0;
  };
  [[nodiscard]] std::vector<Found> look(const std::optional<Own>& own, Time now);
  // Of the machine; empty: not known.
  [[nodiscard]] std::string boot_id() const { return looks_.empty() ? std::string() : looks_.back().host.boot_id; }
  // What the last looks have found.
  void fill(localize::NodeState& state) const;

 private:
  struct Look {
    Time at{};
    HostState host;
    std::optional<Own> own;
  };
  struct Shares {
    double load = 0;
    double stolen = 0;
    double memory = 0;
    double network_errors = 0;
  };
  void measure();

  LookAtHost look_at_host_;
  localize::DetectorLimits limits_;
  std::deque<Look> looks_;  // the oldest first
  Shares shares_;
  std::map<SymptomKind, Time> found_;  // when last
};

}  // namespace cairn
