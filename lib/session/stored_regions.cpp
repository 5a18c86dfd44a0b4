#include "session/stored_regions.hpp"

#include <set>
#include <utility>
#include <vector>

#include "base/bytes.hpp"

namespace cairn {
namespace {

Buffer encode_names(const std::set<std::string>& names) {
  ByteWriter out;
  for (const std::string& name : names) out.put_text(name);
  return out.take();
}

void decode_names(Bytes bytes, std::set<std::string>& names) {
  ByteReader in(bytes);
  while (in.good() && in.remaining() > 0) names.insert(in.get_text());
}

}  // namespace

void add(const Shard& shard, StoredRegions& regions) {
  for (const PlacedRegion& placed : shard.regions()) {
    StoredRegion& region = regions[placed.info.name];
    region.elements += placed.info.elements();
    region.steps += placed.info.shape.empty() ? 1 : placed.info.shape.front();
    ++region.shards;
  }
}

// The first rank that has any sends its names. Then others send only names that are not among them.
Result<StoredRegions> add_up(Comm& ranks, const StoredRegions& mine) {
  constexpr std::uint64_t kNone = ~std::uint64_t{0};
  std::uint64_t first = mine.empty() ? kNone : ranks.rank().value;
  if (auto status = ranks.allreduce({&first, 1}, Reduce::min); !status) return fail(status.error());
  if (first == kNone) return StoredRegions{};
  std::set<std::string> here;
  for (const auto& [name, region] : mine) here.insert(name);
  std::set<std::string> names;
  const auto common = ranks.broadcast(encode_names(here), Peer{static_cast<std::uint32_t>(first)});
  if (!common) return fail(common.error());
  decode_names(*common, names);
  std::erase_if(here, [&](const std::string& name) { return names.contains(name); });
  const auto others = ranks.allgather(encode_names(here));
  if (!others) return fail(others.error());
  for (const Buffer& more : *others) decode_names(more, names);

  std::vector<std::uint64_t> sums;
  for (const std::string& name : names) {
    const auto found = mine.find(name);
    const StoredRegion region = found == mine.end() ? StoredRegion{} : found->second;
    sums.insert(sums.end(), {region.elements, region.steps, region.shards});
  }
  if (auto status = ranks.allreduce(sums, Reduce::sum); !status) return fail(status.error());
  StoredRegions all;
  auto sum = sums.begin();
  for (const std::string& name : names) {
    StoredRegion& region = all[name];
    region.elements = *sum++;
    region.steps = *sum++;
    region.shards = *sum++;
  }
  return all;
}

}  // namespace cairn
