// Detectors: each looks at one observation and says whether it is a symptom. Pure functions without memory; callers
// keep what they measure. A symptom is cheap to raise: the analysis finds out what it means.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/symptom.hpp"

namespace cairn::localize {

// From where an observation counts as a symptom. Chosen with seeds 1 to 50 of tests/support/sick_cluster, which
// measures accuracy with other seeds.
struct DetectorLimits {
  std::chrono::microseconds heartbeat_period = std::chrono::milliseconds(250);
  std::uint32_t heartbeats_missed = 6;
  double bandwidth_deviations = 5;  // median absolute deviations, scaled to a standard deviation
  double bandwidth_share = 0.4;     // and at most this share of the median
  double stolen_share = 0.25;
  double memory_share = 0.25;
  double network_errors = 0.001;
  double slow_deviations = 5;
};

struct About {
  Suspect suspect;
  NodeId reporter;
  std::chrono::microseconds now{};
};

using Detected = std::optional<Symptom>;

[[nodiscard]] Detected detect_heartbeat(const About& about, std::chrono::microseconds last_heard,
                                        const DetectorLimits& limits);
[[nodiscard]] Detected detect_stolen(const About& about, double share, const DetectorLimits& limits);
[[nodiscard]] Detected detect_memory(const About& about, double share, const DetectorLimits& limits);
[[nodiscard]] Detected detect_network_errors(const About& about, double share, const DetectorLimits& limits);
// MPI reports these processes as dead: a symptom about the node of each, with the number of its processes. Several of
// one node are one symptom. `about`: without its suspect.
[[nodiscard]] std::vector<Symptom> detect_dead(const About& about, std::span<const Peer> dead,
                                               std::span<const NodeId> node_of_process);

struct Outlier {
  std::size_t place = 0;
  double share = 0;  // of the median
};
// Bandwidths that are far below those of their siblings. Fewer than four siblings have no outliers.
[[nodiscard]] std::vector<Outlier> far_below(std::span<const double> rates, const DetectorLimits& limits);

// 0 for none.
[[nodiscard]] double median_of(std::vector<double> values);
// The median absolute deviation, scaled to the standard deviation of normal values. An outlier changes it little. Leys
// et al. (2013), "Detecting outliers: Do not use standard deviation around the mean, use absolute deviation around the
// median", Journal of Experimental Social Psychology 49(4), DOI 10.1016/j.jesp.2013.03.013.
[[nodiscard]] double spread_of(std::vector<double> values);

}  // namespace cairn::localize
