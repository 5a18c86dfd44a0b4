#include "recover/destinations.hpp"

#include <fmt/format.h>

#include "format/shard.hpp"
#include "store/names.hpp"
#include "store/posix/user_file.hpp"

namespace cairn {
namespace {

Status write_one(const Shard& shard, const Destination& to, Rank rank, const std::function<void()>& between) {
  const auto found = shard.find(to.region);
  if (!found) return fail(found.error().in_file(shard.name()));
  const PlacedRegion& region = shard.regions()[*found];
  const std::string tag = fmt::format("{:06}", rank.value);
  auto file = posix::FileReplacement::begin(to.path, tag, region.info.size_bytes(), region.info.file_mode());
  if (!file) return fail(file.error());
  const auto add = [&](Bytes bytes) {
    between();
    return file->add(bytes);
  };
  return read_in_blocks(shard, region, add).and_then([&] { return file->finish(); }).and_then([&] {
    return file->apply();
  });
}

}  // namespace

Status write_to_destinations(const NodeContext& node, const Identity& snapshot,
                             const std::map<Rank, Destinations>& of_ranks) {
  for (const auto& [rank, destinations] : of_ranks) {
    if (destinations.empty()) continue;
    const auto shard = Shard::open(*node.local, names::shard(node.dir(snapshot), rank));
    if (!shard) return fail(shard.error());
    for (const Destination& each : destinations) {
      if (auto written = write_one(*shard, each, rank, node.between); !written)
        return fail(written.error().in(fmt::format("rank {}: file \"{}\"", rank.value, each.region)));
    }
  }
  return {};
}

}  // namespace cairn
