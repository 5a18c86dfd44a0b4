#include <algorithm>

#include <fmt/format.h>

#include "commands.hpp"
#include "format/hdf5/hdf5_check.hpp"
#include "format/hdf5/node_file_check.hpp"
#include "format/json_text.hpp"
#include "format/shard.hpp"
#include "inspection.hpp"
#include "level/global_snapshot.hpp"
#include "other_ranks.hpp"
#include "store/names.hpp"
#include "text.hpp"

namespace ckpt_tool {
namespace {

using cairn::LevelId;
using cairn::NamedFile;
using cairn::NodeId;
using cairn::Rank;
using cairn::RegionInfo;
using cairn::SnapshotView;
using cairn::Survey;

cairn::Result<std::vector<RegionInfo>> read_shard_regions(const cairn::Store& store, const cairn::FileName& name) {
  const auto shard = cairn::Shard::open(store, name);
  if (!shard) return cairn::fail(shard.error());
  std::vector<RegionInfo> regions;
  for (const auto& region : shard->regions()) regions.push_back(region.info);
  return regions;
}

// The manifest of the HDF5 files; null: no store has them.
const cairn::GlobalManifest* hdf5_manifest(const Inspection& of) {
  for (const auto& [level, there] : of.survey.shared_of(of.snapshot.identity)) {
    if (const auto* snapshot = dynamic_cast<const cairn::GlobalSnapshot*>(there.get())) return &snapshot->manifest();
  }
  return nullptr;
}

// Of the global store, which has the snapshot.
cairn::Result<std::vector<RegionInfo>> read_global_regions(Inspection& of, const cairn::GlobalManifest& manifest,
                                                           Rank rank) {
  const cairn::Identity& id = of.snapshot.identity;
  const cairn::Store& store = *of.opened.stores.global;
  const NodeId node = manifest.layout.node_of_rank[rank.value];
  const cairn::FileName file = cairn::names::node_file(cairn::names::snapshot(id), node);
  if (!manifest.node_files.empty() && !of.node_files.contains(node)) {
    of.node_files.emplace(node, cairn::check_node_file(store, file, manifest.node_file_bytes[node.value],
                                                       manifest.node_files[node.value], {}));
  }
  if (const auto whole = of.node_files.find(node); whole != of.node_files.end() && !whole->second) {
    return cairn::fail(whole->second.error());
  }
  return cairn::read_node_regions(store, file, rank);
}

// From the first source that can be read: own shards, copies, the global store.
cairn::Result<std::vector<RegionInfo>> regions_of(Inspection& of, Rank rank) {
  cairn::Result<std::vector<RegionInfo>> last =
      cairn::fail(cairn::Code::not_found, "no shard and no copy of it was found");
  for (const LevelId level : of.survey.inventory.levels.in_node_stores()) {
    for (const cairn::StoreId holder : of.survey.node_stores()) {
      const auto* manifest = find_manifest(of.survey, holder, of.snapshot.identity);
      if (manifest == nullptr) continue;
      for (const NamedFile& file : of.survey.inventory.levels.files(*manifest)) {
        if (file.level != level || file.shard() == nullptr || file.shard()->rank != rank) continue;
        last = read_shard_regions(of.opened.stores.at(holder), file.name);
        if (last) return last;
      }
    }
  }
  const cairn::GlobalManifest* manifest = hdf5_manifest(of);
  return manifest != nullptr ? read_global_regions(of, *manifest, rank) : last;
}

void collect_files(Inspection& of) {
  for (const cairn::StoreId holder : of.survey.node_stores()) {
    const auto* manifest = find_manifest(of.survey, holder, of.snapshot.identity);
    if (manifest == nullptr) continue;
    for (const NamedFile& file : of.survey.inventory.levels.files(*manifest)) {
      std::vector<Rank> ranks;
      if (const auto* shard = file.shard()) ranks.push_back(shard->rank);
      of.files.push_back({file.level, of.opened.stores.path_of(holder, file.name), std::move(ranks), file.bytes()});
    }
  }
  for (const auto& [level, there] : of.survey.shared_of(of.snapshot.identity)) {
    const cairn::StoreId store = *of.survey.inventory.levels.at(level).traits().shared_store;
    for (const auto& part : there->parts())
      of.files.push_back({level, of.opened.stores.path_of(store, part.file), part.ranks, part.bytes});
  }
}

Json node_numbers(const std::vector<NodeId>& nodes) {
  Json all = Json::array();
  for (const NodeId node : nodes) all.push_back(node.value);
  return all;
}

Json json_of(const RegionInfo& info) {
  Json json{
      {"name", info.name}, {"type", info.stored_type_text()}, {"shape", info.shape}, {"bytes", info.size_bytes()}};
  if (!info.global_shape.empty()) {
    json["global_shape"] = info.global_shape;
    json["global_offset"] = info.global_offset;
    if (info.has_ghosts()) json["ghosts_before"] = info.ghosts_before;
    if (info.has_ghosts()) json["ghosts_after"] = info.ghosts_after;
  }
  return json;
}

void print_json(const Inspection& of) {
  const auto& layout = of.snapshot.layout;
  Json root{{"job", of.opened.job}};
  put_identity(root, of.snapshot.identity);
  root["levels"] = levels_json(of.snapshot);
  root["bytes"] = of.snapshot.bytes;
  put_notes_json(root, of.snapshot.notes);
  root["layout"] = {{"id", cairn::names::hex(layout.id())},
                    {"copies", layout.copies},
                    {"rotation", layout.rotation},
                    {"parity", layout.parity},
                    {"nodes", Json::array()},
                    {"groups", Json::array()}};
  if (!layout.avoided.empty()) root["layout"]["avoided"] = node_numbers(layout.avoided);
  const auto turn = turn_of(of);
  for (std::uint32_t node = 0; node < layout.nodes; ++node) {
    Json json{{"node", node}, {"ranks", numbers(layout.ranks_on(NodeId{node}))}, {"copies_on", Json::array()}};
    if (turn) json["copies_on"] = node_numbers(partners_of(layout, NodeId{node}, *turn));
    const Home home = home_of(of, NodeId{node});
    json["store"] = home.where.empty() ? Json() : Json(home.where);
    root["layout"]["nodes"].push_back(std::move(json));
  }
  for (const auto& group : layout.groups) root["layout"]["groups"].push_back(node_numbers(group));
  root["regions"] = Json::array();
  for (const RegionGroup& group : of.regions) {
    Json json{{"ranks", numbers(group.ranks)}, {"regions", Json::array()}};
    for (const RegionInfo& info : group.regions) json["regions"].push_back(json_of(info));
    if (!group.why_not.empty()) json["error"] = group.why_not;
    root["regions"].push_back(std::move(json));
  }
  root["other_ranks"] = Json::array();
  for (const RegionOnRanks& region : regions_on_ranks(of.regions)) {
    Json json{{"name", region.name}, {"by", region.covers() ? "place" : "kind"}};
    if (region.gap) json["gap"] = cairn::reshape::text(*region.gap);
    root["other_ranks"].push_back(std::move(json));
  }
  root["files"] = Json::array();
  for (const Located& file : of.files) {
    root["files"].push_back({{"level", level_text(file.level)},
                             {"ranks", numbers(file.ranks)},
                             {"bytes", file.bytes},
                             {"path", file.path}});
  }
  fmt::print("{}\n", cairn::json_text(root, 1));
}

}  // namespace

void collect_regions(Inspection& of) {
  for (std::uint32_t rank = 0; rank < of.snapshot.layout.node_of_rank.size(); ++rank) {
    auto regions = regions_of(of, Rank{rank});
    RegionGroup group;
    if (regions)
      group.regions = std::move(*regions);
    else
      group.why_not = regions.error().text();
    const auto same = std::ranges::find_if(of.regions, [&](const RegionGroup& other) {
      return other.regions == group.regions && other.why_not == group.why_not;
    });
    if (same != of.regions.end()) {
      same->ranks.push_back(Rank{rank});
    } else {
      group.ranks = {Rank{rank}};
      of.regions.push_back(std::move(group));
    }
  }
}

cairn::Result<ExitCode> inspect(const Request& request) {
  const auto opened = open_stores(request.target);
  if (!opened) return cairn::fail(opened.error());
  const auto survey = take_survey(opened->stores);
  if (!survey) return cairn::fail(survey.error());
  const auto snapshots = view_snapshots(*survey);
  const auto snapshot = std::ranges::find_if(snapshots, [&](const SnapshotView& view) {
    return !request.version || view.identity.version.value == *request.version;
  });
  ExitCode code = kGood;
  for (const cairn::Finding& finding : survey->findings) {
    const bool is_of_it = snapshot == snapshots.end() || finding.snapshot.version == snapshot->identity.version;
    if (!is_of_it) continue;
    complain(finding_text(finding));
    code = worse(code, finding);
  }
  if (snapshot == snapshots.end()) {
    if (request.version) return cairn::fail(no_such_version(*opened, *request.version, *survey));
    return cairn::fail(no_snapshots(*opened, survey->ignored));
  }
  Inspection inspection{*opened, *survey, *snapshot, {}, {}};
  collect_files(inspection);
  collect_regions(inspection);
  if (request.json)
    print_json(inspection);
  else
    fmt::print("{}", inspection_text(inspection, request.details));
  return code;
}

}  // namespace ckpt_tool
