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

double seconds_since(std::chrono::microseconds then, std::chrono::microseconds now) {
  return std::chrono::duration<double>(now - then).count();
}

// The middle of a few values, which are reordered.
double middle(std::span<double> values) {
  if (values.empty()) return 0;
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, half);
  if (values.size() % 2 == 1) return *half;
  return (*half + *std::max_element(values.begin(), half)) / 2;
}

// `side`: −1 for values below the median, 1 for those above. `far`: of a share of the median.
template <class Far>
std::vector<Outlier> outliers(std::span<const double> values, double side, double deviations, Far far) {
  if (values.size() < kFewestSiblings) return {};
  // Mostly, no value can be far from a median that lies between them.
  const auto [low, high] = std::ranges::minmax(values);
  if (low > 0 && !far(side < 0 ? low / high : high / low)) return {};
  std::vector<double> work(values.begin(), values.end());
  const double median = middle(work);
  if (!(median > 0) || std::ranges::none_of(values, [&](double value) { return far(value / median); })) return {};
  const double spread = spread_of(std::move(work));
  std::vector<Outlier> found;
  for (std::size_t place = 0; place < values.size(); ++place) {
    const double share = values[place] / median;
    if (far(share) && side * (values[place] - median) > deviations * spread) found.push_back({place, share});
  }
  return found;
}

}  // namespace

Detected detect_heartbeat(const About& about, std::chrono::microseconds last_heard, const DetectorLimits& limits) {
  const double missed =
      std::floor((about.now - last_heard) / std::chrono::duration<double, std::micro>(limits.heartbeat_period));
  return if_at_least(about, SymptomKind::heartbeat_missed, missed, limits.heartbeats_missed);
}

Detected detect_response(const About& about, std::chrono::microseconds asked, const DetectorLimits& limits) {
  return if_at_least(about, SymptomKind::no_response, seconds_since(asked, about.now),
                     std::chrono::duration<double>(limits.response).count());
}

Detected detect_crc(const About& about, std::uint32_t blocks, std::uint32_t wrong) {
  if (wrong == 0 || blocks == 0) return std::nullopt;
  return symptom_about(about, SymptomKind::crc_mismatch, static_cast<double>(wrong) / blocks);
}

Detected detect_load(const About& about, double per_processor, const DetectorLimits& limits) {
  return if_at_least(about, SymptomKind::high_load, per_processor, limits.load_per_processor);
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

Detected detect_store_use(const About& about, double share, const DetectorLimits& limits) {
  return if_at_least(about, SymptomKind::store_full, share, limits.store_used);
}

Detected detect_store_errors(const About& about, std::uint32_t operations, std::uint32_t failed) {
  if (failed == 0 || operations == 0) return std::nullopt;
  return symptom_about(about, SymptomKind::store_error, static_cast<double>(failed) / operations);
}

Detected detect_mpi_error(const About& about, MpiErrorClass error) {
  if (error == MpiErrorClass::process_failed) return symptom_about(about, SymptomKind::process_failed, 1);
  if (error == MpiErrorClass::other) return symptom_about(about, SymptomKind::mpi_error, 1);
  return std::nullopt;
}

std::vector<Symptom> detect_dead(const About& about, std::span<const Peer> dead,
                                 std::span<const NodeId> node_of_process) {
  std::map<NodeId, std::uint32_t> counts;
  for (const Peer process : dead)
    if (process.value < node_of_process.size()) ++counts[node_of_process[process.value]];
  std::vector<Symptom> symptoms;
  for (const auto& [node, count] : counts) {
    symptoms.push_back(*detect_mpi_error({{node, {}}, about.reporter, about.now}, MpiErrorClass::process_failed));
    symptoms.back().measure = count;
  }
  return symptoms;
}

Detected detect_wait(const About& about, std::chrono::microseconds since, const DetectorLimits& limits) {
  return if_at_least(about, SymptomKind::waited_for, seconds_since(since, about.now),
                     std::chrono::duration<double>(limits.waited).count());
}

std::vector<Outlier> far_below(std::span<const double> rates, const DetectorLimits& limits) {
  return outliers(rates, -1, limits.bandwidth_deviations,
                  [&](double share) { return share <= limits.bandwidth_share; });
}

std::vector<Outlier> far_above(std::span<const double> seconds, const DetectorLimits& limits) {
  return outliers(seconds, 1, limits.slow_deviations, [&](double share) { return share >= limits.slow_times; });
}

Detected detect_low_bandwidth(const About& about, const Outlier& outlier) {
  return symptom_about(about, SymptomKind::low_bandwidth, outlier.share);
}

Detected detect_slow_rank(const About& about, const Outlier& outlier) {
  return symptom_about(about, SymptomKind::slow_rank, outlier.share);
}

double median_of(std::vector<double> values) { return middle(values); }

double spread_of(std::vector<double> values) {
  const double median = median_of(values);
  std::ranges::transform(values, values.begin(), [&](double value) { return std::abs(value - median); });
  return kNormal * middle(values);
}

}  // namespace cairn::localize
