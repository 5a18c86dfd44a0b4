#include "session/region_exchange.hpp"

#include <utility>
#include <variant>

#include "reshape/tiles.hpp"
#include "session/region_texts.hpp"

namespace cairn {
namespace {

reshape::Share share(const RegionInfo& info, const detail::AnyKind& kind) {
  if (!info.global_shape.empty())
    return reshape::Block{info.global_shape, info.global_offset, info.ghosts_before, info.ghosts_after, {}};
  if (const auto* part = std::get_if<SequencePart>(&kind))
    return reshape::Sequence{.part = reshape::Sequence::Part{part->first, part->count}};
  if (const auto* other = std::get_if<Like>(&kind)) return reshape::Sequence{.like = other->region};
  if (const auto* one = std::get_if<OfRank>(&kind)) return reshape::OfRank{Rank{one->rank}};
  if (std::holds_alternative<Sequence>(kind)) return reshape::Sequence{};
  if (std::holds_alternative<Same>(kind)) return reshape::Same{};
  return reshape::Unsaid{};
}

// Whatever is stored.
bool is_of_others(const detail::AnyKind& kind, Rank self) {
  if (std::holds_alternative<SequencePart>(kind)) return true;
  const auto* one = std::get_if<OfRank>(&kind);
  return one != nullptr && one->rank != self.value;
}

bool is_part(const ProtectedRegion& region) {
  return region.is_part_of_array() || std::holds_alternative<Sequence>(region.kind()) ||
         std::holds_alternative<Like>(region.kind());
}

// A container without elements has not been given a size yet.
bool is_of_others(const ProtectedRegion& region, const RegionInfo& stored, Rank self) {
  if (region.has_place_other_than(stored) || is_of_others(region.kind(), self)) return true;
  if (!is_part(region)) return false;
  const RegionInfo now = region.info();
  const bool keeps_size =
      !region.is_resizable() || region.has_fixed_size() || (region.is_part_of_array() && now.shape.front() > 0);
  return keeps_size && now.shape != stored.shape;
}

}  // namespace

bool RegionExchange::is_needed(const Shard& shard, Rank self) const {
  for (const ProtectedRegion& region : regions_) {
    const auto found = shard.find(region.name());
    if (found && is_of_others(region, shard.regions()[*found].info, self)) return true;
  }
  return false;
}

bool RegionExchange::is_needed_by_kind(Rank self) const {
  for (const ProtectedRegion& region : regions_) {
    if (is_of_others(region.kind(), self)) return true;
  }
  return false;
}

std::optional<std::uint64_t> RegionExchange::share_of(const std::string& name, const StoredRegions& all, Rank self,
                                                      std::uint32_t ranks) const {
  const auto stored = all.find(name);
  if (stored == all.end()) return std::nullopt;
  const StoredRegion& region = stored->second;
  const ProtectedRegion* const known = regions_.find(name);
  const detail::AnyKind kind = known != nullptr ? known->kind() : detail::AnyKind{};
  if (known != nullptr && known->is_part_of_array()) return known->info().elements();
  if (std::holds_alternative<Same>(kind)) return region.elements / region.shards;
  if (const auto* part = std::get_if<SequencePart>(&kind)) return part->count * region.elements_in_step();
  if (const auto* other = std::get_if<Like>(&kind)) {
    const auto model = all.find(other->region);
    const auto share = share_of(other->region, all, self, ranks);
    if (!share || model->second.elements == 0) return 0;
    return *share / model->second.elements_in_step() * (region.steps / model->second.steps) * region.elements_in_step();
  }
  return reshape::even_share(region.steps, self.value, ranks).count * region.elements_in_step();
}

Result<std::vector<reshape::Wanted>> RegionExchange::wanted() const {
  std::vector<reshape::Wanted> wanted;
  wanted.reserve(regions_.size());
  for (const ProtectedRegion& region : regions_) {
    reshape::Wanted& one = wanted.emplace_back();
    one.info = region.info();
    one.share = share(one.info, region.kind());
    // A part of a global array keeps its size, which says how large the part is.
    if (region.is_resizable() && !region.has_fixed_size() && !region.is_part_of_array()) {
      one.memory = [&region](std::uint64_t steps) {
        region.resize(steps * region.row_elements());
        return MutableBytes(region.data(), region.info().size_bytes());
      };
      continue;
    }
    if (region.data() == nullptr && one.info.size_bytes() > 0) return fail(null_pointer(one.info));
    one.memory = MutableBytes(region.data(), one.info.size_bytes());
  }
  return wanted;
}

}  // namespace cairn
