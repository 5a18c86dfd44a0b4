#include "level/delivery.hpp"

#include "store/names.hpp"

namespace cairn {

std::optional<Peer> Delivery::holder() const {
  if (const auto* own = std::get_if<OwnShard>(&source)) return own->holder;
  if (const auto* copy = std::get_if<CopiedShard>(&source)) return copy->holder;
  return {};
}

std::optional<FileName> Delivery::file(const DirName& dir) const {
  if (std::holds_alternative<OwnShard>(source)) return names::shard(dir, rank);
  if (const auto* copy = std::get_if<CopiedShard>(&source)) return names::copy(dir, {copy->owner, rank, copy->layout});
  return {};
}

bool Delivery::in_place() const {
  const auto* own = std::get_if<OwnShard>(&source);
  return own != nullptr && own->holder == to;
}

}  // namespace cairn
