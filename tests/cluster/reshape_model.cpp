#include "reshape_model.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/mix.hpp"

namespace cairn::test {
namespace {

constexpr std::byte kUntouched{0xa5};

std::uint64_t draw(Random& random, std::uint64_t low, std::uint64_t high) {
  return std::uniform_int_distribution<std::uint64_t>(low, high)(random);
}

using Index = std::vector<std::int64_t>;
using Lengths = std::vector<std::uint64_t>;

// What the element at that index is: some bytes that no other element is likely to have.
void put_value(std::uint64_t salt, const Index& index, MutableBytes into) {
  std::uint64_t value = mix(salt);
  for (const std::int64_t i : index) value = mix(value ^ static_cast<std::uint64_t>(i));
  for (std::byte& byte : into) byte = static_cast<std::byte>(value = mix(value));
}

struct DrawnBox {
  Index first;
  Lengths extent;
};

std::uint64_t product(const Lengths& lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{1}, std::multiplies<>());
}

// Calls `visit` with each index of the box, and its number in row-major order.
void each_index(const DrawnBox& box, const std::function<void(const Index&, std::uint64_t)>& visit) {
  for (std::uint64_t number = 0; number < product(box.extent); ++number) {
    Index index = box.first;
    std::uint64_t rest = number;
    for (std::size_t d = box.extent.size(); d-- > 0; rest /= box.extent[d])
      index[d] += static_cast<std::int64_t>(rest % box.extent[d]);
    visit(index, number);
  }
}

bool is_in(const Index& index, const DrawnBox& box) {
  for (std::size_t d = 0; d < index.size(); ++d) {
    if (index[d] < box.first[d] || index[d] >= box.first[d] + static_cast<std::int64_t>(box.extent[d])) return false;
  }
  return true;
}

// Cuts a box into so many, some of them perhaps empty.
void cut(Random& random, const DrawnBox& box, std::uint32_t parts, std::vector<DrawnBox>& out) {
  if (parts == 1) {
    out.push_back(box);
    return;
  }
  const auto d = draw(random, 0, box.extent.size() - 1);
  const auto low_parts = static_cast<std::uint32_t>(draw(random, 1, parts - 1));
  DrawnBox low = box;
  DrawnBox high = box;
  low.extent[d] = draw(random, 0, 2) == 0 ? draw(random, 0, box.extent[d]) : box.extent[d] * low_parts / parts;
  high.first[d] += static_cast<std::int64_t>(low.extent[d]);
  high.extent[d] -= low.extent[d];
  cut(random, low, low_parts, out);
  cut(random, high, parts - low_parts, out);
}

std::vector<DrawnBox> cut(Random& random, const Lengths& shape, std::uint32_t parts) {
  std::vector<DrawnBox> boxes;
  cut(random, {Index(shape.size(), 0), shape}, parts, boxes);
  std::ranges::shuffle(boxes, random);
  return boxes;
}

RegionInfo draw_type(Random& random, const std::string& name) {
  constexpr ElementType kTypes[] = {ElementType::int8, ElementType::int16, ElementType::float32, ElementType::uint64};
  constexpr std::uint32_t kBytes[] = {1, 2, 4, 8};
  RegionInfo info;
  info.name = name;
  if (const auto i = draw(random, 0, 4); i < 4) {
    info.type = kTypes[i];
    info.element_bytes = kBytes[i];
  } else {
    info.element_bytes = static_cast<std::uint32_t>(draw(random, 1, 19));
    info.type_name = "Particle";
  }
  return info;
}

MutableBytes element(Buffer& bytes, const RegionInfo& info, std::uint64_t number) {
  return MutableBytes(bytes).subspan(number * info.element_bytes, info.element_bytes);
}

// An old block and its ghosts. With `outer`, they may lie outside the array. Ghosts have wrong values, except where the
// table cannot tell that they are ghosts.
OldPart old_block(std::uint64_t salt, RegionInfo info, const Lengths& shape, const DrawnBox& owned,
                  const Lengths& ghosts, bool outer) {
  DrawnBox memory = owned;
  bool is_clear = true;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto width = static_cast<std::int64_t>(ghosts[d]);
    const auto length = static_cast<std::int64_t>(shape[d]);
    const std::int64_t end = owned.first[d] + static_cast<std::int64_t>(owned.extent[d]);
    std::int64_t low = owned.first[d] - width;
    std::int64_t high = end + width;
    if (!outer) {
      if (owned.first[d] == 0) low = 0;
      if (end == length) high = length;
      low = std::max<std::int64_t>(low, 0);
      high = std::min(high, length);
    }
    is_clear = is_clear && (low != 0 || owned.first[d] == 0) && (high != length || end == length) && width > 0;
    memory.first[d] = low;
    memory.extent[d] = static_cast<std::uint64_t>(high - low);
  }
  if (product(owned.extent) == 0) memory = owned;
  OldPart part;
  info.shape = memory.extent;
  info.global_shape = shape;
  for (const std::int64_t first : memory.first) info.global_offset.push_back(static_cast<std::uint64_t>(first));
  part.bytes.resize(info.size_bytes());
  each_index(memory, [&](const Index& index, std::uint64_t number) {
    put_value(is_in(index, owned) || !is_clear ? salt : ~salt, index, element(part.bytes, info, number));
  });
  part.info = std::move(info);
  return part;
}

NewPart new_block(Random& random, std::uint64_t salt, RegionInfo info, const Lengths& shape, const DrawnBox& owned,
                  const Lengths& stored_ghosts) {
  reshape::Block block{shape, {}, {}, {}, stored_ghosts};
  DrawnBox memory = owned;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    block.offset.push_back(static_cast<std::uint64_t>(owned.first[d]));
    block.ghosts_before.push_back(draw(random, 0, 2));
    block.ghosts_after.push_back(draw(random, 0, 2));
    memory.first[d] -= static_cast<std::int64_t>(block.ghosts_before[d]);
    memory.extent[d] += block.ghosts_before[d] + block.ghosts_after[d];
  }
  NewPart part;
  info.shape = memory.extent;
  part.before.assign(info.size_bytes(), kUntouched);
  part.expected = part.before;
  const DrawnBox all{Index(shape.size(), 0), shape};
  each_index(memory, [&](const Index& index, std::uint64_t number) {
    if (is_in(index, all)) put_value(salt, index, element(part.expected, info, number));
  });
  part.info = std::move(info);
  part.share = std::move(block);
  return part;
}

// Blocks with ghosts, or blocks that overlap with equal values, or such that do not.
ModelRegion draw_blocks(Random& random, const std::string& name, const ReshapeJob& job) {
  ModelRegion region{name, {}, {}};
  const RegionInfo info = draw_type(random, name);
  const std::uint64_t salt = random();
  Lengths shape(draw(random, 1, 3));
  for (std::uint64_t& length : shape) length = draw(random, 0, 11) == 0 ? draw(random, 0, 1) : draw(random, 2, 13);
  const bool outer = draw(random, 0, 1) == 1;
  Lengths ghosts(shape.size(), 0);
  if (draw(random, 0, 1) == 1) std::ranges::generate(ghosts, [&] { return draw(random, 0, 2); });
  const bool overlaps = draw(random, 0, 2) == 0;
  for (DrawnBox& box : cut(random, shape, job.old_ranks)) {
    for (std::size_t d = 0; overlaps && d < shape.size(); ++d) {
      const auto more = std::min<std::uint64_t>(draw(random, 0, 2), static_cast<std::uint64_t>(box.first[d]));
      box.first[d] -= static_cast<std::int64_t>(more);
      box.extent[d] += more;
    }
    region.old.push_back(old_block(salt, info, shape, box, ghosts, outer));
    region.old.back().there = product(box.extent) > 0 || draw(random, 0, 1) == 1;
  }
  for (const DrawnBox& box : cut(random, shape, job.new_ranks)) {
    region.now.push_back(new_block(random, salt, info, shape, box, ghosts));
    region.now.back().wanted = product(box.extent) > 0 || draw(random, 0, 1) == 1;
  }
  if (std::ranges::none_of(region.old, &OldPart::there)) region.old.front().there = true;
  if (std::ranges::none_of(region.now, &NewPart::wanted)) region.now.front().wanted = true;
  return region;
}

// The parts of new ranks, by rank: evenly, or drawn, in any order of ranks.
std::vector<reshape::Sequence::Part> draw_parts(Random& random, std::uint64_t length, std::uint32_t ranks, bool even) {
  std::vector<std::uint64_t> ends;
  for (std::uint32_t i = 1; i < ranks; ++i) ends.push_back(draw(random, 0, length));
  ends.push_back(length);
  std::ranges::sort(ends);
  std::vector<reshape::Sequence::Part> parts;
  std::uint64_t first = 0;
  for (std::uint32_t i = 0; i < ranks; ++i) {
    const std::uint64_t count = even ? length / ranks + (i < length % ranks ? 1 : 0) : ends[i] - first;
    parts.push_back({first, count});
    first += count;
  }
  if (!even) std::ranges::shuffle(parts, random);
  return parts;
}

// A sequence whose old ranks have those numbers of elements.
ModelRegion sequence_of(Random& random, const std::string& name, const Lengths& counts,
                        const std::vector<reshape::Sequence::Part>& parts, const reshape::Sequence& how) {
  ModelRegion region{name, {}, {}};
  RegionInfo info = draw_type(random, name);
  const std::uint64_t salt = random();
  Lengths row(draw(random, 0, 2));
  for (std::uint64_t& length : row) length = draw(random, 1, 3);
  const auto part_of = [&](std::uint64_t first, std::uint64_t count, Buffer& bytes) {
    info.shape = row;
    info.shape.insert(info.shape.begin(), count);
    bytes.resize(info.size_bytes());
    DrawnBox box{Index(info.shape.size(), 0), info.shape};
    box.first.front() = static_cast<std::int64_t>(first);
    each_index(box,
               [&](const Index& index, std::uint64_t number) { put_value(salt, index, element(bytes, info, number)); });
  };
  std::uint64_t first = 0;
  for (const std::uint64_t count : counts) {
    OldPart& old = region.old.emplace_back();
    part_of(first, count, old.bytes);
    old.info = info;
    first += count;
  }
  for (const auto& part : parts) {
    NewPart& now = region.now.emplace_back();
    part_of(part.first, part.count, now.expected);
    now.info = info;
    now.before.assign(now.expected.size(), kUntouched);
    now.resizable = draw(random, 0, 1) == 1;
    now.share = how;
    if (how.part) now.share = reshape::Sequence{part, {}};
  }
  return region;
}

void draw_sequences(Random& random, ReshapeJob& job) {
  Lengths counts(job.old_ranks);
  for (std::uint64_t& count : counts) count = draw(random, 0, 2) == 0 ? 0 : draw(random, 0, 20);
  const std::uint64_t length = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  const bool even = draw(random, 0, 1) == 1;
  const auto parts = draw_parts(random, length, job.new_ranks, even);
  reshape::Sequence how;
  if (!even) how.part = reshape::Sequence::Part{0, 0};
  // Those that are like it may come before it.
  const std::uint64_t factor = draw(random, 0, 3);
  Lengths more = counts;
  for (std::uint64_t& count : more) count *= factor;
  auto multiples = parts;
  for (auto& part : multiples) part = {part.first * factor, part.count * factor};
  job.regions.push_back(sequence_of(random, "multiple", more, multiples, {{}, "sequence"}));
  job.regions.push_back(sequence_of(random, "sequence", counts, parts, how));
  job.regions.push_back(sequence_of(random, "alike", counts, parts, {{}, "sequence"}));
}

OldPart value_of(const RegionInfo& info, std::uint64_t salt) {
  OldPart part{true, info, Buffer(info.size_bytes())};
  put_value(salt, {}, part.bytes);
  return part;
}

NewPart wants(const OldPart& old, bool resizable, reshape::Share share) {
  NewPart part{true, resizable && !old.info.shape.empty(), old.info, std::move(share), {}, old.bytes};
  part.before.assign(old.bytes.size(), kUntouched);
  return part;
}

ModelRegion draw_same(Random& random, const ReshapeJob& job) {
  ModelRegion region{"same", {}, {}};
  RegionInfo info = draw_type(random, region.name);
  if (draw(random, 0, 1) == 1) info.shape = {draw(random, 0, 30), draw(random, 1, 3)};
  region.old.assign(job.old_ranks, value_of(info, random()));
  for (std::uint32_t i = 0; i < job.new_ranks; ++i)
    region.now.push_back(wants(region.old.front(), draw(random, 0, 1) == 1, reshape::Same{}));
  return region;
}

// Some old ranks have none, and some new ranks want none.
ModelRegion draw_of_rank(Random& random, const ReshapeJob& job) {
  ModelRegion region{"own", {}, {}};
  RegionInfo info = draw_type(random, region.name);
  std::vector<std::uint32_t> owners;
  for (std::uint32_t rank = 0; rank < job.old_ranks; ++rank) {
    info.shape = {draw(random, 0, 30)};
    region.old.push_back(value_of(info, random()));
    region.old.back().there = rank == 0 || draw(random, 0, 2) != 0;
    if (region.old.back().there) owners.push_back(rank);
  }
  for (std::uint32_t i = 0; i < job.new_ranks; ++i) {
    const std::uint32_t owner = owners[draw(random, 0, owners.size() - 1)];
    region.now.push_back(wants(region.old[owner], draw(random, 0, 1) == 1, reshape::OfRank{Rank{owner}}));
    region.now.back().wanted = i == 0 || draw(random, 0, 2) != 0;
  }
  return region;
}

}  // namespace

ModelRegion& ReshapeJob::region(const std::string& name) {
  return *std::ranges::find(regions, name, &ModelRegion::name);
}

ReshapeJob draw_job(std::uint64_t seed, std::uint32_t old_ranks, std::uint32_t new_ranks) {
  Random random(mix(seed) ^ mix(old_ranks * 1000 + new_ranks));
  ReshapeJob job{old_ranks, new_ranks, {}, {}};
  const bool one_holds_all = draw(random, 0, 5) == 0;
  for (std::uint32_t rank = 0; rank < old_ranks; ++rank)
    job.holder_of.push_back(one_holds_all ? 0 : static_cast<std::uint32_t>(draw(random, 0, new_ranks - 1)));
  job.regions.push_back(draw_blocks(random, "block", job));
  job.regions.push_back(draw_blocks(random, "other block", job));
  draw_sequences(random, job);
  job.regions.push_back(draw_same(random, job));
  job.regions.push_back(draw_of_rank(random, job));
  return job;
}

reshape::OldRank old_rank_of(const ReshapeJob& job, Rank rank) {
  reshape::OldRank old{rank, {}, {}};
  std::vector<const Buffer*> bytes;
  for (const ModelRegion& region : job.regions) {
    const OldPart& part = region.old[rank.value];
    if (!part.there) continue;
    old.regions.push_back(part.info);
    bytes.push_back(&part.bytes);
  }
  old.read = [bytes](std::size_t region, std::span<const reshape::Run> runs) {
    for (const auto& [offset, into] : runs) copy_bytes(Bytes(*bytes.at(region)).subspan(offset, into.size()), into);
    return Status{};
  };
  return old;
}

Member::Member(const ReshapeJob& job, std::uint32_t rank) : job_(job), rank_(rank), memory_(job.regions.size()) {
  input_.old_ranks = job.old_ranks;
  for (std::uint32_t old_rank = 0; old_rank < job.old_ranks; ++old_rank) {
    if (job.holder_of[old_rank] == rank) input_.held.push_back(old_rank_of(job, Rank{old_rank}));
  }
  for (std::size_t i = 0; i < job.regions.size(); ++i) {
    const NewPart& part = job.regions[i].now[rank];
    if (!part.wanted) continue;
    reshape::Wanted wanted{part.info, part.share, MutableBytes{}};
    if (part.resizable) {
      wanted.info.shape.front() = 7;  // counts for nothing
      std::uint64_t row = part.info.element_bytes;
      for (std::size_t d = 1; d < part.info.shape.size(); ++d) row *= part.info.shape[d];
      wanted.memory = [this, i, row](std::uint64_t steps) {
        memory_[i].assign(steps * row, kUntouched);
        return MutableBytes(memory_[i]);
      };
    } else {
      memory_[i] = part.before;
      wanted.memory = MutableBytes(memory_[i]);
    }
    input_.wanted.push_back(std::move(wanted));
  }
}

void Member::reach_node(std::uint32_t members_per_node) {
  of_node_.clear();
  for (std::uint32_t old_rank = 0; old_rank < job_.old_ranks; ++old_rank) {
    const std::uint32_t holder = job_.holder_of[old_rank];
    if (holder != rank_ && holder / members_per_node == rank_ / members_per_node)
      of_node_.push_back(old_rank_of(job_, Rank{old_rank}));
  }
  input_.reach = [this](Rank rank) {
    const auto found = std::ranges::find(of_node_, rank, &reshape::OldRank::rank);
    return found == of_node_.end() ? nullptr : &*found;
  };
}

std::vector<std::string> Member::wrong() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < job_.regions.size(); ++i) {
    const NewPart& part = job_.regions[i].now[rank_];
    if (part.wanted && memory_[i] != part.expected) names.push_back(job_.regions[i].name);
  }
  return names;
}

}  // namespace cairn::test
