#include "localize/names.hpp"

#include <algorithm>
#include <array>

namespace cairn::localize {
namespace {

constexpr std::array<std::string_view, kSymptomKinds> kSymptomNames{
    "heartbeat_missed", "no_response",     "crc_mismatch", "low_bandwidth",  "processor_stolen",
    "memory_pressure",  "store_full",      "store_error",  "process_failed", "waited_for",
    "slow_rank",        "process_stopped", "suspected",    "network_error",  "deadlock"};
constexpr std::array<std::string_view, kFaults> kFaultNames{
    "process_dead",  "process_stopped", "rank_stuck", "rank_slow",      "node_down",     "node_stolen",
    "node_swapping", "store_failing",   "store_full", "store_corrupts", "link_degraded", "partition",
    "path_corrupts", "head_overloaded", "deadlock",   "undetermined"};
constexpr std::array<std::string_view, kProbes> kProbeNames{"response", "witness", "state", "log"};

template <class T, std::size_t N>
std::optional<T> value_named(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<T>(found - names.begin());
}

}  // namespace

std::string_view name_of(SymptomKind kind) { return kSymptomNames.at(static_cast<std::size_t>(kind)); }
std::string_view name_of(Fault fault) { return kFaultNames.at(static_cast<std::size_t>(fault)); }
std::string_view name_of(Probe probe) { return kProbeNames.at(static_cast<std::size_t>(probe)); }

std::optional<SymptomKind> symptom_named(std::string_view name) {
  return value_named<SymptomKind>(kSymptomNames, name);
}

std::optional<Fault> fault_named(std::string_view name) {
  const auto fault = value_named<Fault>(kFaultNames, name);
  return fault == Fault::undetermined ? std::nullopt : fault;
}

}  // namespace cairn::localize
