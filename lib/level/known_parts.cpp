#include "level/known_parts.hpp"

#include <string_view>

#include "level/level.hpp"

namespace cairn {

KnownParts::KnownParts(const Levels& levels, const Identity& snapshot, const std::set<Strike>& strikes)
    : levels_(levels), snapshot_(snapshot) {
  note_strikes(strikes);
}

void KnownParts::note_strikes(const std::set<Strike>& strikes) {
  const DirName dir = names::snapshot(snapshot_);
  const std::string prefix = dir.path + "/";
  for (const Strike& strike : strikes) {
    if (!strike.file.starts_with(prefix)) continue;
    const std::string_view name = std::string_view(strike.file).substr(prefix.size());
    if (const auto rank = names::parse_shard(name)) shards_.emplace(strike.store, *rank);
    if (const auto copy = names::parse_copy(name)) copies_.emplace(strike.store, *copy);
    if (const auto parity = names::parse_parity(name)) parity_.emplace(strike.store, *parity);
    if (strike.file == names::manifest(dir).path) manifests_.insert(strike.store);
  }
}

void KnownParts::note(Peer head, const HoldingSummary& summary, LayoutIndex& index) {
  if (parts_.empty()) turn_ = summary.turn;
  const auto [position, is_new] = positions_.emplace(summary.layout, parts_.size());
  if (is_new) {
    Parts& parts = parts_.emplace_back();
    parts.id = summary.layout;
    parts.index = &index;
    parts.present.resize(index.layout().nodes);
  }
  Parts& parts = parts_[position->second];
  parts.present[summary.node.value] = true;
  for (const LevelId level : summary.levels& levels_.in_node_stores())
    levels_.at(level).note(parts, level, summary, head);
}

void KnownParts::close() {
  for (Parts& parts : parts_) {
    for (Stores* stores : {&parts.own, &parts.copies, &parts.parity})
      stores->of_node.close(static_cast<std::uint32_t>(parts.present.size()));
  }
}

}  // namespace cairn
