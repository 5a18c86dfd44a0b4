#include "reshape/box_directory.hpp"

#include <algorithm>
#include <utility>

#include "base/mix.hpp"
#include "reshape/tiles.hpp"
#include "reshape/wire.hpp"

namespace cairn::reshape {
namespace {

struct SentOld {
  std::uint32_t region = 0;
  Rank old_rank;
  Box owned;
};
void fields(auto& io, SentOld& m) { io(m.region), io(m.old_rank), io(m.owned); }

struct SentWanted {
  std::uint32_t region = 0;
  Box owned;
  Box filled;
};
void fields(auto& io, SentWanted& m) { io(m.region), io(m.owned), io(m.filled); }

struct SentBoxes {
  std::vector<SentOld> old;
  std::vector<SentWanted> wanted;
};
void fields(auto& io, SentBoxes& m) { io(m.old), io(m.wanted); }

struct SentSource {
  std::uint32_t region = 0;
  Source source;
};
void fields(auto& io, SentSource& m) { io(m.region), io(m.source); }

// The tiles of all regions, and whose they are. The first tiles of different regions are different members'.
class Directory {
 public:
  Directory(std::uint32_t members, const std::vector<std::vector<std::uint64_t>>& shapes,
            const std::vector<std::vector<std::uint64_t>>& means)
      : members_(members) {
    for (std::size_t region = 0; region < shapes.size(); ++region)
      tiles_.emplace_back(shapes[region], means[region], shapes[region].empty() ? 0 : members);
  }
  [[nodiscard]] Peer member_of(std::uint32_t region, std::uint64_t tile) const {
    return {static_cast<std::uint32_t>((tile + mix(region) % members_) % members_)};
  }
  // The tile of a member, if it has one.
  [[nodiscard]] std::optional<Box> tile_of(std::uint32_t region, Peer member) const {
    const std::uint64_t tile = (member.value + members_ - mix(region) % members_) % members_;
    if (tile >= tiles_[region].count()) return std::nullopt;
    return tiles_[region].tile(tile);
  }
  [[nodiscard]] const Tiles& tiles(std::uint32_t region) const { return tiles_[region]; }

 private:
  std::uint32_t members_;
  std::vector<Tiles> tiles_;
};

using Shapes = std::vector<std::vector<std::uint64_t>>;

// The mean extents of all boxes, old and wanted. They only shape the tiles, so a sum that overflows does no harm.
Result<Shapes> mean_extents(Comm& comm, const Shapes& shapes, const Holdings& holdings,
                            const std::map<std::uint32_t, WantedBoxes>& wanted) {
  std::vector<std::size_t> begin;
  std::vector<std::uint64_t> sums;
  for (const auto& shape : shapes) {
    begin.push_back(sums.size());
    sums.resize(sums.size() + shape.size() + 1, 0);  // the extents, and how many boxes
  }
  const auto add = [&](std::uint32_t region, const Box& box) {
    if (shapes[region].empty() || box.empty()) return;
    for (std::size_t d = 0; d < box.dimensions(); ++d) sums[begin[region] + d] += box.extent[d];
    ++sums[begin[region] + box.dimensions()];
  };
  for (const auto& [key, held] : holdings.regions()) add(key.second, held.owned);
  for (const auto& [region, boxes] : wanted) add(region, boxes.owned);
  if (auto status = comm.allreduce(sums, Reduce::sum); !status) return fail(status.error());
  Shapes means = shapes;
  for (std::size_t region = 0; region < shapes.size(); ++region) {
    const std::uint64_t boxes = sums[begin[region] + shapes[region].size()];
    for (std::size_t d = 0; d < shapes[region].size(); ++d)
      means[region][d] = sums[begin[region] + d] / std::max<std::uint64_t>(1, boxes);
  }
  return means;
}

Outbox letters_to(const Directory& directory, const Shapes& shapes, const Holdings& holdings,
                  const std::map<std::uint32_t, WantedBoxes>& wanted) {
  std::map<std::uint32_t, SentBoxes> sent;
  for (const auto& [key, held] : holdings.regions()) {
    const auto [old_rank, region] = key;
    if (shapes[region].empty() || held.owned.empty()) continue;
    const SentOld box{region, Rank{old_rank}, held.owned};
    directory.tiles(region).touched(held.owned, [&, region = region](std::uint64_t tile) {
      sent[directory.member_of(region, tile).value].old.push_back(box);
    });
  }
  for (const auto& [region, boxes] : wanted) {
    if (boxes.filled.empty()) continue;
    const SentWanted box{region, boxes.owned, boxes.filled};
    directory.tiles(region).touched(boxes.filled, [&, region = region](std::uint64_t tile) {
      sent[directory.member_of(region, tile).value].wanted.push_back(box);
    });
  }
  Outbox letters;
  for (auto& [to, boxes] : sent) letters[to] = to_bytes(boxes);
  return letters;
}

// What a member got of one region.
struct AtTile {
  std::vector<OldBox> old;
  std::vector<WantedBox> wanted;
};

bool fits(const Box& box, const std::vector<std::uint64_t>& shape) {
  return is_sane(box) && contains(whole(shape), box);
}

// By region. None: a letter is damaged.
std::optional<std::vector<AtTile>> sort_by_region(const std::vector<Letter>& letters, const Shapes& shapes) {
  std::vector<AtTile> at(shapes.size());
  for (const Letter& letter : letters) {
    auto boxes = from_bytes<SentBoxes>(letter.bytes);
    if (!boxes) return std::nullopt;
    for (SentOld& one : boxes->old) {
      if (one.region >= shapes.size() || !fits(one.owned, shapes[one.region])) return std::nullopt;
      at[one.region].old.push_back({std::move(one.owned), one.old_rank, letter.from});
    }
    for (SentWanted& one : boxes->wanted) {
      if (one.region >= shapes.size() || !fits(one.filled, shapes[one.region]) || !contains(one.filled, one.owned))
        return std::nullopt;
      at[one.region].wanted.push_back({std::move(one.owned), std::move(one.filled), Rank{letter.from.value}});
    }
  }
  return at;
}

struct Answers {
  Outbox letters;
  Findings finding;
};

Answers answer(const Directory& directory, const Roster& roster, const std::vector<AtTile>& at, Peer self) {
  Answers answers;
  std::map<std::uint32_t, std::vector<SentSource>> sources;
  for (std::uint32_t region = 0; region < at.size(); ++region) {
    const auto tile = directory.tile_of(region, self);
    if (!tile) continue;
    TileMatch match = match_tile(*tile, at[region].old, at[region].wanted);
    if (match.finding && !answers.finding) {
      answers.finding = std::move(match.finding);
      answers.finding->region = roster.entries()[region].type.name;
    }
    for (std::size_t i = 0; i < match.sources.size(); ++i) {
      auto& of_rank = sources[at[region].wanted[i].new_rank.value];
      for (Source& source : match.sources[i]) of_rank.push_back({region, std::move(source)});
    }
  }
  for (auto& [to, some] : sources) answers.letters[to] = to_bytes(some);
  return answers;
}

// Whether the sources give all that is wanted, and nothing else.
bool complete(const std::vector<Source>& sources, const WantedBoxes& boxes, std::uint32_t members) {
  std::uint64_t elements = 0;
  for (const Source& source : sources) {
    if (!is_sane(source.box) || !contains(boxes.filled, source.box) || source.holder.value >= members) return false;
    if (!source.same_as) elements += source.box.elements();
  }
  return elements == boxes.filled.elements();
}

}  // namespace

Result<BoxSources> find_boxes(Comm& comm, Post& post, const Roster& roster, const Shapes& shapes,
                              const Holdings& holdings, const std::map<std::uint32_t, WantedBoxes>& wanted) {
  const auto means = mean_extents(comm, shapes, holdings, wanted);
  if (!means) return fail(means.error());
  const Directory directory(comm.size(), shapes, *means);
  const auto boxes = post.exchange(comm, letters_to(directory, shapes, holdings, wanted));
  if (!boxes) return fail(boxes.error());

  BoxSources found;
  const Finding damaged{.cause = Cause::damaged_message, .ranks = {comm.rank().value}};
  const auto at = sort_by_region(*boxes, shapes);
  Answers answers;
  if (at) answers = answer(directory, roster, *at, comm.rank());
  found.finding = at ? answers.finding : damaged;
  const auto taken = post.exchange(comm, answers.letters);
  if (!taken) return fail(taken.error());
  for (const Letter& letter : *taken) {
    for (SentSource& one : from_bytes<std::vector<SentSource>>(letter.bytes).value_or(std::vector<SentSource>{}))
      found.of_region[one.region].push_back(std::move(one.source));
  }
  return found;
}

bool are_complete(const BoxSources& found, const std::map<std::uint32_t, WantedBoxes>& wanted, std::uint32_t members) {
  for (const auto& [region, boxes] : wanted) {
    const auto sources = found.of_region.find(region);
    static const std::vector<Source> kNone;
    if (!complete(sources == found.of_region.end() ? kNone : sources->second, boxes, members)) return false;
  }
  return true;
}

}  // namespace cairn::reshape
