#include "localize/detect.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace cairn::localize {
namespace {

constexpr std::size_t kFewestSiblings = 4;
// A median absolute deviation times this is the standard deviation of normal values: 1 / Φ⁻¹(3/4).
constexpr double kNormal = 1.4826;

Symptom symptom_about(const About& about, SymptomKind kind, double measure) {
  return {kind, about.suspect, about.reporter, about.now, measure};
}

Detected if_at_least(const About& about, SymptomKind kind, double measure, double limit) {
  if (measure < limit) return std::nullopt;
  return symptom_about(about, kind, measure);
}

// The middle of a few values, which are reordered.
double middle(std::span<double> values) {
  if (values.empty()) return 0;
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, half);
  if (values.size() % 2 == 1) return *half;
  return (*half + *std::max_element(values.begin(), half)) / 2;
}

}  // namespace

Detected detect_heartbeat(const About& about, std::chrono::microseconds last_heard, const DetectorLimits& limits) {
  const double missed =
      std::floor((about.now - last_heard) / std::chrono::duration<double, std::micro>(limits.heartbeat_period));
  return if_at_least(about, SymptomKind::heartbeat_missed, missed, limits.heartbeats_missed);
}

Detected detect_stolen(const About& about, double share, const DetectorLimits& limits) {
  return if_at_least(about, SymptomKind::processor_stolen, share, limits.stolen_share);
}

Detected detect_memory(const About& about, double share, const DetectorLimits& limits) {
  return if_at_least(about, SymptomKind::memory_pressure, share, limits.memory_share);
}

Detected detect_network_errors(const About& about, double share, const DetectorLimits& limits) {
  return if_at_least(about, SymptomKind::network_error, share, limits.network_errors);
}

std::vector<Symptom> detect_dead(const About& about, std::span<const Peer> dead,
                                 std::span<const NodeId> node_of_process) {
  std::map<NodeId, std::uint32_t> counts;
  for (const Peer process : dead)
    if (process.value < node_of_process.size()) ++counts[node_of_process[process.value]];
  std::vector<Symptom> symptoms;
  for (const auto& [node, count] : counts) {
    symptoms.push_back(symptom_about({{node, {}}, about.reporter, about.now}, SymptomKind::process_failed, count));
  }
  return symptoms;
}

std::vector<Outlier> far_below(std::span<const double> rates, const DetectorLimits& limits) {
  if (rates.size() < kFewestSiblings) return {};
  const auto far = [&](double share) { return share <= limits.bandwidth_share; };
  // Mostly, no value can be far from a median that lies between them.
  const auto [low, high] = std::ranges::minmax(rates);
  if (low > 0 && !far(low / high)) return {};
  std::vector<double> work(rates.begin(), rates.end());
  const double median = middle(work);
  if (!(median > 0) || std::ranges::none_of(rates, [&](double rate) { return far(rate / median); })) return {};
  const double spread = spread_of(std::move(work));
  std::vector<Outlier> found;
  for (std::size_t place = 0; place < rates.size(); ++place) {
    const double share = rates[place] / median;
    if (far(share) && median - rates[place] > limits.bandwidth_deviations * spread) found.push_back({place, share});
  }
  return found;
}

double median_of(std::vector<double> values) { return middle(values); }

double spread_of(std::vector<double> values) {
  const double median = median_of(values);
  std::ranges::transform(values, values.begin(), [&](double value) { return std::abs(value - median); });
  return kNormal * middle(values);
}

}  // namespace cairn::localize
