#include "recover/brought_room.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "comm/share.hpp"

namespace cairn {
namespace {

// By rank; 0: not known.
class Sizes {
 public:
  explicit Sizes(std::size_t ranks) : bytes_(ranks) {}
  void take(const std::vector<ShardEntry>& shards) {
    for (const ShardEntry& shard : shards)
      if (shard.rank.value < bytes_.size()) bytes_[shard.rank.value] = shard.bytes;
  }
  void take(const NodeManifest& manifest) {
    for (const Holding& holding : manifest.holdings) {
      if (holding.own) take(*holding.own);
      if (holding.partner) {
        for (const HeldCopies& held : holding.partner->held) take(held.shards);
      }
      if (holding.erasure) {
        for (const auto& member : holding.erasure->members) take(member);
      }
    }
  }
  [[nodiscard]] Status share(Comm& heads) { return heads.allreduce(bytes_, Reduce::max); }
  [[nodiscard]] std::uint64_t of(Rank rank) const { return bytes_[rank.value]; }

 private:
  std::vector<std::uint64_t> bytes_;
};

}  // namespace

Status check_room_for_brought(Comm& heads, const NodeContext& node, const Plan& plan, const KnownShards& known,
                              const std::function<bool(Rank)>& is_there) {
  if (std::ranges::all_of(plan.deliveries, &Delivery::in_place)) return {};
  Sizes sizes(plan.deliveries.size());
  if (known.manifest != nullptr) sizes.take(*known.manifest);
  sizes.take(known.shared);
  if (auto status = sizes.share(heads); !status) return status;
  std::uint64_t needed = 0;
  for (const Delivery& delivery : plan.deliveries) {
    if (delivery.to.value != node.me.value || delivery.in_place() || is_there(delivery.rank)) continue;
    needed += sizes.of(delivery.rank);
  }
  Status mine;
  const auto free = node.local->free_bytes();
  if (needed > 0 && free && *free < needed) {
    const auto mib = [](std::uint64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(kMiB); };
    mine =
        fail(Code::no_space,
             fmt::format("{} has {:.1f} MiB free, but the shards of version {} that are brought there take {:.1f} MiB",
                         node.local->where(), mib(*free), plan.snapshot.version.value, mib(needed)),
             "give it more room, put [storage] local elsewhere, or use more nodes");
  }
  const Status all = agree(heads, mine, "node");
  return mine ? all : fail(mine.error().in(fmt::format("node {}", node.me.value)));
}

}  // namespace cairn
