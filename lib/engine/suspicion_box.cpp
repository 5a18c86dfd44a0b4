#include "engine/suspicion_box.hpp"

#include <utility>

#include <fmt/format.h>

#include "format/suspicion_file.hpp"
#include "store/names.hpp"
#include "topology/host_name.hpp"

namespace cairn {
namespace {

// What the file means is in this job; empty: nothing.
std::vector<Suspect> suspects_of(const SuspicionFile& file, const Topology& topology) {
  const auto nodes = static_cast<std::uint32_t>(topology.nodes.size());
  if (const auto* node = std::get_if<NodeId>(&file.whom)) {
    return node->value < nodes ? std::vector<Suspect>{{*node, std::nullopt}} : std::vector<Suspect>{};
  }
  if (const auto* rank = std::get_if<Rank>(&file.whom)) {
    if (rank->value >= topology.world_of_rank.size()) return {};
    return {{topology.node_of_world[topology.world_of_rank[rank->value].value], *rank}};
  }
  std::vector<Suspect> suspects;
  const auto hosts = topology.hosts();
  for (std::uint32_t node = 0; node < nodes; ++node) {
    if (same_host(hosts[node], std::get<std::string>(file.whom))) suspects.push_back({NodeId{node}, std::nullopt});
  }
  return suspects;
}

std::string whom_text(const SuspicionFile& file) {
  if (const auto* node = std::get_if<NodeId>(&file.whom)) return fmt::format("node {}", node->value);
  if (const auto* rank = std::get_if<Rank>(&file.whom)) return fmt::format("rank {}", rank->value);
  return "host " + std::get<std::string>(file.whom);
}

}  // namespace

SuspicionBox::SuspicionBox(std::shared_ptr<Store> store, const Topology& topology, Sealer sealer, Log log)
    : store_(std::move(store)), topology_(topology), sealer_(std::move(sealer)), log_(std::move(log)) {}

std::vector<Suspicion> SuspicionBox::take(std::uint64_t today) {
  // A store that fails is noticed elsewhere.
  const auto entries = store_->list(DirName{});
  if (!entries) return {};
  std::vector<Suspicion> taken;
  for (const Entry& entry : *entries) {
    if (entry.directory || !names::is_suspicion(entry.name)) continue;
    const FileName name{entry.name};
    auto read_ones = read(name, today);
    if (!read_ones) continue;
    // It would be taken again and again.
    if (const auto removed = store_->remove(name); !removed) {
      log_.warning("{}", removed.error().text());
      continue;
    }
    for (Suspicion& one : *read_ones) taken.push_back(std::move(one));
  }
  return taken;
}

std::optional<std::vector<Suspicion>> SuspicionBox::read(const FileName& name, std::uint64_t today) {
  const auto text = read_text(*store_, name);
  const auto file = text ? parse_suspicion_file(*text, sealer_) : fail(text.error());
  if (!file) {
    const bool damaged = file.error().code == Code::corrupt;
    if (damaged || kept_.insert(name.path).second)
      log_.warning("{}; what it reports is ignored{}", file.error().in_file(name.path).text(),
                   damaged ? "" : ", and the file stays");
    return damaged ? std::optional(std::vector<Suspicion>{}) : std::nullopt;
  }
  if (today > file->written + kCountsForSeconds) {
    log_.warning("{} was reported more than {} minutes ago, which no longer counts: \"{}\"", whom_text(*file),
                 kCountsForSeconds / 60, file->text);
    return std::vector<Suspicion>{};
  }
  std::vector<Suspicion> suspicions;
  for (const Suspect& suspect : suspects_of(*file, topology_)) suspicions.push_back({suspect, file->text});
  if (suspicions.empty())
    log_.warning("{} was reported, which is not in this job: \"{}\"", whom_text(*file), file->text);
  return suspicions;
}

}  // namespace cairn
