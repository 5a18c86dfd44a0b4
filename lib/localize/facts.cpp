#include "localize/facts.hpp"

#include <algorithm>
#include <set>

#include "localize/names.hpp"

namespace cairn::localize {
namespace {

struct ProbeFactName {
  Probe probe;
  std::string_view name;
};
constexpr std::array<ProbeFactName, kProbeFacts> kProbeFactNames{{
    {Probe::response, "response.answers"},
    {Probe::response, "response.seconds"},
    {Probe::response, "response.process_alive"},
    {Probe::response, "response.process_stopped"},
    {Probe::response, "response.oom_kills"},
    {Probe::witness, "witness.reached"},
    {Probe::witness, "witness.unreached"},
    {Probe::witness, "witness.silent"},
    {Probe::witness, "witness.near_silent"},
    {Probe::state, "state.bandwidth"},
    {Probe::state, "state.load"},
    {Probe::state, "state.stolen"},
    {Probe::state, "state.memory"},
    {Probe::state, "state.store_used"},
    {Probe::state, "state.store_errors"},
    {Probe::state, "state.store_operations"},
    {Probe::state, "state.store_failed"},
    {Probe::state, "state.store_since"},
    {Probe::state, "state.store_room"},
    {Probe::state, "state.store_free"},
    {Probe::state, "state.store_refused"},
    {Probe::state, "state.store_damaged"},
    {Probe::state, "state.network_errors"},
    {Probe::state, "state.queue"},
    {Probe::log, "log.bad_peers"},
    {Probe::log, "log.bad_share"},
    {Probe::log, "log.blocks"},
    {Probe::log, "log.deadlock"},
    {Probe::log, "log.held"},
    {Probe::log, "log.crowded"},
}};
constexpr std::array<std::string_view, kFactsPerSymptom> kParts{"", ".reporters", ".worst"};

}  // namespace

std::optional<SymptomKind> symptom_of(std::size_t fact) {
  if (fact >= fact_of(ProbeFact{})) return std::nullopt;
  return static_cast<SymptomKind>(fact / kFactsPerSymptom);
}

std::optional<Probe> probe_of(std::size_t fact) {
  if (fact < fact_of(ProbeFact{})) return std::nullopt;
  return kProbeFactNames.at(fact - fact_of(ProbeFact{})).probe;
}

std::string fact_name(std::size_t fact) {
  if (const auto kind = symptom_of(fact)) {
    return std::string(name_of(*kind)).append(kParts.at(fact % kFactsPerSymptom));
  }
  return std::string(kProbeFactNames.at(fact - fact_of(ProbeFact{})).name);
}

std::optional<std::size_t> fact_named(std::string_view name) {
  for (std::size_t fact = 0; fact < kFacts; ++fact) {
    if (fact_name(fact) == name) return fact;
  }
  return std::nullopt;
}

FactTable::FactTable(std::span<const Observation> observations) {
  std::fill_n(values_.begin(), fact_of(ProbeFact{}), 0.0);
  std::set<std::pair<SymptomKind, NodeId>> reporters;
  for (const Observation& observation : observations) {
    const std::size_t first = static_cast<std::size_t>(observation.kind) * kFactsPerSymptom;
    double& count = *values_.at(first);
    double& worst = *values_.at(first + 2);
    worst = count == 0 ? observation.worst : worse_measure(observation.kind, worst, observation.worst);
    count += observation.count;
    if (reporters.emplace(observation.kind, observation.reporter).second) ++*values_.at(first + 1);
  }
}

void FactTable::forget(Probe probe) {
  for (std::size_t fact = fact_of(ProbeFact{}); fact < kFacts; ++fact) {
    if (probe_of(fact) == probe) values_.at(fact).reset();
  }
}

std::vector<Finding> FactTable::findings() const {
  std::vector<Finding> found;
  for (std::size_t fact = fact_of(ProbeFact{}); fact < kFacts; ++fact) {
    if (values_.at(fact)) found.push_back({fact, *values_.at(fact)});
  }
  return found;
}

double worse_measure(SymptomKind kind, double a, double b) {
  return kind == SymptomKind::low_bandwidth ? std::min(a, b) : std::max(a, b);
}

}  // namespace cairn::localize
