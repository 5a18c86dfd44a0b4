#include "engine/symptom_spool.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "format/json_file.hpp"
#include "format/symptom_file.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

constexpr std::uint64_t kMostSpoolBytes = kMiB;

// Each node by its host and its place among the nodes of that host.
std::vector<std::pair<std::string, std::uint32_t>> places_of(const Topology& topology) {
  std::map<std::string, std::uint32_t> count;
  std::vector<std::pair<std::string, std::uint32_t>> places;
  for (const std::string& host : topology.hosts()) places.emplace_back(host, count[host]++);
  return places;
}

}  // namespace

std::vector<localize::Observation> aged_symptoms(const SymptomFile& file, const Topology& topology,
                                                 std::uint64_t today) {
  const auto places = places_of(topology);
  const std::chrono::seconds since(today > file.written ? today - file.written : 0);
  std::vector<localize::Observation> taken;
  for (const SpooledSymptom& one : file.symptoms) {
    for (std::uint32_t node = 0; node < places.size(); ++node) {
      if (places[node] != std::pair(one.host, one.place)) continue;
      localize::Observation& seen = taken.emplace_back(one.seen);
      seen.suspect = {NodeId{node}, std::nullopt};
      seen.first += since;
      seen.last += since;
    }
  }
  return taken;
}

SymptomSpool::SymptomSpool(std::shared_ptr<Store> store, const Topology& topology, Sealer sealer, Log log)
    : store_(std::move(store)), topology_(topology), sealer_(std::move(sealer)), log_(std::move(log)) {}

bool SymptomSpool::write(const std::vector<localize::Observation>& pending, std::uint64_t today) {
  const auto places = places_of(topology_);
  SymptomFile file{today, {}};
  for (const localize::Observation& seen : pending) {
    const std::size_t node = seen.suspect.node.value;
    if (seen.suspect.rank || node >= places.size()) continue;
    file.symptoms.push_back({places[node].first, places[node].second, seen});
  }
  if (file.symptoms.empty()) {
    if (holds_any_) remove();
    return true;
  }
  auto ageless = file.symptoms;
  for (SpooledSymptom& one : ageless) one.seen.first = one.seen.last = {};
  if (ageless == written_) return true;
  written_ = std::move(ageless);
  holds_any_ = true;
  const auto status = write_json_text(*store_, names::symptoms(), to_json(file, sealer_), kMostSpoolBytes);
  if (!status && !std::exchange(unwritable_, true))
    log_.warning("symptoms of sick nodes get lost: {}", status.error().text());
  if (!status) written_.clear();
  return status.has_value();
}

std::vector<localize::Observation> SymptomSpool::read(std::uint64_t today) {
  const auto text = read_text(*store_, names::symptoms(), kMostSpoolBytes);
  holds_any_ = text || text.error().code != Code::not_found;
  if (!holds_any_) return {};
  const auto file = text ? parse_symptom_file(*text, sealer_) : fail(text.error());
  if (!file) {
    log_.warning("{}; symptoms of sick nodes from before are ignored",
                 file.error().in_file(names::symptoms().path).text());
    if (file.error().code == Code::corrupt) remove();
    return {};
  }
  auto taken = aged_symptoms(*file, topology_, today);
  if (taken.empty()) remove();
  return taken;
}

void SymptomSpool::remove() {
  holds_any_ = false;
  written_.clear();
  const auto status = store_->remove(names::symptoms());
  if (!status && status.error().code != Code::not_found) log_.warning("{}", status.error().text());
}

}  // namespace cairn
