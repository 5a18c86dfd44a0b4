#include "level/levels.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "level/erasure_level.hpp"
#include "level/global_level.hpp"
#include "level/local_level.hpp"
#include "level/partner_level.hpp"
#include "store/names.hpp"

namespace cairn {

void Levels::add(LevelId id, std::shared_ptr<Level> level) { levels_.emplace(id, std::move(level)); }

LevelSet Levels::ids_if(const std::function<bool(const Level&)>& wanted) const {
  LevelSet ids;
  for (const auto& [id, level] : levels_) {
    if (wanted(*level)) ids.add(id);
  }
  return ids;
}

LevelSet Levels::in_node_stores() const { return ids_if(&Level::in_node_stores); }

LevelSet Levels::in_global_store() const {
  return ids_if([](const Level& level) { return level.traits().shared_store == StoreId::global(); });
}

LevelId Levels::of_own_shards() const {
  return *ids_if([](const Level& level) { return level.traits().is_own_shards; }).begin();
}

LevelSet Levels::of_redundancy() const { return in_node_stores() - LevelSet{of_own_shards()}; }

LevelSet Levels::that_take_turns() const {
  return ids_if([](const Level& level) { return level.traits().takes_turns; });
}

LevelSet Levels::that_are_rebuilt() const {
  return ids_if([](const Level& level) { return level.traits().is_rebuilt; });
}

LevelId Levels::of_last_state() const { return *in_shared_stores().begin(); }

LevelSet Levels::carried_by(const Layout& layout) const {
  return ids_if([&](const Level& level) { return level.is_carried_by(layout); });
}

LevelSet Levels::that_survive(const Layout& layout, const std::vector<NodeId>& lost, std::uint64_t turn) const {
  std::vector<bool> gone(layout.nodes);
  for (const NodeId node : lost) gone[node.value] = true;
  return ids_if([&](const Level& level) { return level.survives(layout, gone, turn); });
}

LevelSet Levels::held(const Holding& holding) const {
  return ids_if([&](const Level& level) { return level.is_in(holding); });
}

HoldingSummary Levels::summary_of(const Identity& snapshot, const Holding& holding) const {
  const std::uint64_t turn = turn_of(holding).value_or(0) % std::max(1U, holding.layout.rotation);
  return {snapshot, holding.layout.id(), holding.node, held(holding), static_cast<std::uint32_t>(turn)};
}

std::optional<std::uint64_t> Levels::turn_of(const Holding& holding) const {
  for (const auto& [id, level] : levels_) {
    if (const auto turn = level->turn_of(holding)) return turn;
  }
  return {};
}

std::vector<NamedFile> Levels::files(const NodeManifest& manifest) const {
  const DirName dir = names::snapshot(manifest.identity);
  std::map<std::string, NamedFile> files;
  for (const Holding& holding : manifest.holdings) {
    for (const auto& [id, level] : levels_) {
      for (NamedFile& file : level->files(dir, holding)) {
        file.level = id;
        std::string path = file.name.path;
        files.emplace(std::move(path), std::move(file));
      }
    }
  }
  std::vector<NamedFile> all;
  for (auto& [name, file] : files) all.push_back(std::move(file));
  return all;
}

std::unique_ptr<Level> make_level(LevelId id) {
  switch (id) {
    case LevelId::local: return std::make_unique<LocalLevel>();
    case LevelId::partner: return std::make_unique<PartnerLevel>();
    case LevelId::erasure: return std::make_unique<ErasureLevel>();
    case LevelId::global: return std::make_unique<GlobalLevel>();
  }
  return nullptr;
}

Levels make_levels() {
  Levels levels;
  for (const LevelId level : kAllLevels) levels.add(level, make_level(level));
  return levels;
}

}  // namespace cairn
