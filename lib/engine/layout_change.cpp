#include "engine/layout_change.hpp"

#include <optional>
#include <utility>

#include "recover/roll_call.hpp"

namespace cairn {
// Only a layout that carries as much as the present one.
void LayoutChange::work_out() {
  known_ = head_.sick.size();
  wanted_.reset();
  LayoutWishes wishes = head_.options.wishes;
  wishes.restart = true;
  wishes.avoid.insert(wishes.avoid.end(), head_.sick.begin(), head_.sick.end());
  auto decision = decide_layout(head_.topology, wishes);
  if (!decision) return;
  if ((head_.usable - head_.node.levels.carried_by(decision->layout)).empty())
    wanted_ = std::make_shared<const Layout>(std::move(decision->layout));
}

std::shared_ptr<const Layout> LayoutChange::offer(Vote& vote) {
  if (known_ != head_.sick.size()) work_out();
  if (!wanted_ || wanted_->equals_but_for_arrangement(head_.node.layout)) {
    vote.note_no_layout();
    return nullptr;
  }
  PlacesOfShape places{wanted_->shape()};
  for (const NodeManifest& manifest : catalog_.contents.manifests) places.note(manifest, head_.node.me);
  for (const auto& [id, known] : catalog_.known) places.note(known.manifest, head_.node.me);
  vote.note_layout(wanted_->id(), places.same, places.other);
  return wanted_;
}

std::optional<Layout> LayoutChange::settle(const Vote& vote, const std::shared_ptr<const Layout>& offered) {
  const auto agreed = vote.layout();
  if (!offered || !agreed || agreed->id != offered->id()) return {};
  Layout layout = *offered;
  layout.arrangement = PlacesOfShape{{}, agreed->same_place, agreed->other_place}.arrangement();
  if (!check(layout)) return {};
  return layout;
}

}  // namespace cairn
