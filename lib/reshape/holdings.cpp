#include "reshape/holdings.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cairn::reshape {
namespace {

// Whether all dimensions but the first are as the roster says.
bool has_rows_of(const RegionInfo& stored, const Entry& entry) {
  const auto& wanted = entry.type.shape;
  if (stored.shape.size() != wanted.size()) return false;
  return stored.shape.empty() || std::equal(stored.shape.begin() + 1, stored.shape.end(), wanted.begin() + 1);
}

// Why the region of an old rank is not what the roster says; ranks are filled in by the caller.
Findings mismatch(const RegionInfo& stored, const Entry& entry) {
  if (!same_type(stored, entry.type))
    return Finding{.cause = Cause::old_type, .texts = {stored.type_text(), entry.type.type_text()}};
  if (entry.needed_on_all() && !has_rows_of(stored, entry))
    return Finding{.cause = Cause::old_shape, .texts = {stored.type_text(), entry.type.type_text()}};
  if (entry.kind != Kind::block) return {};
  if (stored.global_shape.empty()) return Finding{.cause = Cause::no_place};
  if (stored_placement(stored, entry.type.shape, entry.stored_ghosts)) return {};
  RegionInfo whole_array = stored;
  whole_array.shape = stored.global_shape;
  return Finding{.cause = Cause::old_shape, .texts = {whole_array.type_text(), entry.type.type_text()}};
}

}  // namespace

LocalArray as_bytes(std::uint64_t size_bytes) { return {range(0, size_bytes), 1}; }

Holdings::Holdings(const Input& input, const Roster& roster) {
  for (const OldRank& rank : input.held) add(rank, roster);
}

void Holdings::add(const OldRank& rank, const Roster& roster) {
  for (std::size_t i = 0; i < rank.regions.size(); ++i) add(rank, i, roster);
}

void Holdings::add(const OldRank& rank, std::size_t position, const Roster& roster) {
  const RegionInfo& stored = rank.regions[position];
  const auto note = [&](Finding finding) {
    finding.region = stored.name;
    finding.ranks = {rank.rank.value};
    if (!finding_) finding_ = std::move(finding);
  };
  const auto listed = roster.find(stored.name);
  if (!listed) return note({.cause = Cause::not_protected});
  const Entry& entry = roster.entries()[*listed];
  if (auto finding = mismatch(stored, entry)) return note(std::move(*finding));

  HeldRegion& held = regions_[{rank.rank.value, *listed}];
  held.info = &stored;
  held.read = [&rank, position](std::span<const Run> runs) { return rank.read(position, runs); };
  held.array = as_bytes(stored.size_bytes());
  if (entry.kind == Kind::sequence) {
    held.array = {whole(stored.shape), stored.element_bytes};
    held.owned = held.array.box;
  } else if (entry.kind == Kind::block) {
    const auto placement = stored_placement(stored, entry.type.shape, entry.stored_ghosts);
    held.array = placement->memory;
    held.owned = placement->owned;
  }
}

const HeldRegion* Holdings::find(Rank old_rank, std::uint32_t region) const {
  const auto found = regions_.find({old_rank.value, region});
  return found == regions_.end() ? nullptr : &found->second;
}

void Holdings::place_sequence(Rank old_rank, std::uint32_t region, std::uint64_t elements_before) {
  const auto found = regions_.find({old_rank.value, region});
  if (found == regions_.end()) return;
  HeldRegion& held = found->second;
  held.owned.first.front() = held.array.box.first.front() = static_cast<std::int64_t>(elements_before);
}

}  // namespace cairn::reshape
