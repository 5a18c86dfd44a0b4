#include "reshape/rank_directory.hpp"

#include <algorithm>
#include <utility>

#include "reshape/tiles.hpp"
#include "reshape/wire.hpp"

namespace cairn::reshape {
namespace {

struct FiledRegion {
  std::uint32_t region = 0;
  std::vector<std::uint64_t> shape;
};
void fields(auto& io, FiledRegion& m) { io(m.region), io(m.shape); }

struct Filing {
  Rank old_rank;
  std::vector<FiledRegion> regions;
};
void fields(auto& io, Filing& m) { io(m.old_rank), io(m.regions); }

// Of one step in the first dimension. Requires: check() has passed.
std::uint64_t row_bytes(RegionInfo type) {
  type.shape.front() = 1;
  return type.size_bytes();
}

Filing filing_of(Rank old_rank, const Roster& roster, const Holdings& holdings) {
  Filing filing{old_rank, {}};
  for (std::uint32_t region = 0; region < roster.size(); ++region) {
    if (const HeldRegion* held = holdings.find(old_rank, region)) filing.regions.push_back({region, held->info->shape});
  }
  return filing;
}

}  // namespace

Peer RankDirectory::member_of(Rank old_rank) const {
  return {static_cast<std::uint32_t>(part_of(old_rank.value, old_ranks_, members_))};
}

const RankDirectory::Filed* RankDirectory::find(Rank old_rank) const {
  if (old_rank.value < first_ || old_rank.value - first_ >= filed_.size()) return nullptr;
  return &filed_[old_rank.value - first_];
}

std::uint64_t RankDirectory::elements(const Filed& filed, std::uint32_t region) const {
  const auto& shape = filed.shapes[region];
  return shape && !shape->empty() ? shape->front() : 0;
}

Result<RankDirectory> RankDirectory::file(Comm& comm, Post& post, const Input& input, const Roster& roster,
                                          const Holdings& holdings) {
  RankDirectory directory;
  directory.old_ranks_ = input.old_ranks;
  directory.members_ = comm.size();
  const Cut range = even_share(input.old_ranks, comm.rank().value, comm.size());
  directory.first_ = static_cast<std::uint32_t>(range.first);
  directory.filed_.resize(range.count);

  std::map<std::uint32_t, std::vector<Filing>> filings;
  for (const OldRank& held : input.held) {
    if (held.rank.value >= input.old_ranks) {
      directory.finding_ = Finding{.cause = Cause::rank_not_held, .ranks = {held.rank.value}};
      continue;
    }
    filings[directory.member_of(held.rank).value].push_back(filing_of(held.rank, roster, holdings));
  }
  Outbox letters;
  for (auto& [to, some] : filings) letters[to] = to_bytes(some);
  const auto taken = post.exchange(comm, letters);
  if (!taken) return fail(taken.error());
  for (const Letter& letter : *taken) directory.take(letter, roster, comm.rank());
  if (!directory.finding_) directory.check(roster);
  return directory;
}

void RankDirectory::take(const Letter& letter, const Roster& roster, Peer self) {
  const auto filings = from_bytes<std::vector<Filing>>(letter.bytes);
  if (!filings) finding_ = Finding{.cause = Cause::damaged_message, .ranks = {self.value}};
  for (const Filing& filing : filings.value_or(std::vector<Filing>{})) {
    if (find(filing.old_rank) == nullptr) {
      finding_ = Finding{.cause = Cause::damaged_message, .ranks = {self.value}};
      return;
    }
    Filed& filed = filed_[filing.old_rank.value - first_];
    if (filed.holder) finding_ = Finding{.cause = Cause::rank_held_twice, .ranks = {filing.old_rank.value}};
    filed.holder = letter.from;
    filed.shapes.resize(roster.size());
    for (const FiledRegion& one : filing.regions) {
      if (one.region < roster.size()) filed.shapes[one.region] = one.shape;
    }
  }
}

void RankDirectory::check(const Roster& roster) {
  for (std::uint32_t i = 0; i < filed_.size(); ++i) {
    if (filed_[i].holder) continue;
    finding_ = Finding{.cause = Cause::rank_not_held, .ranks = {first_ + i}};
    return;
  }
  for (std::uint32_t region = 0; region < roster.size(); ++region) {
    if (!roster.entries()[region].needed_on_all()) continue;
    Finding lacking{.cause = Cause::not_stored, .region = roster.entries()[region].type.name};
    for (std::uint32_t i = 0; i < filed_.size(); ++i) {
      if (!filed_[i].shapes[region]) lacking.ranks.push_back(first_ + i);
    }
    if (lacking.ranks.empty()) continue;
    finding_ = std::move(lacking);
    return;
  }
}

// Sums of halves of the numbers do not overflow, and no number of bytes that is computed later.
Result<RankDirectory::Lengths> RankDirectory::lengths(Comm& comm, const Roster& roster) const {
  constexpr std::uint64_t kHalf = 1ULL << 32U;
  std::vector<std::uint64_t> sums(2 * std::size_t{roster.size()} + 1, 0);
  for (std::uint32_t region = 0; region < roster.size(); ++region) {
    if (roster.entries()[region].kind != Kind::sequence) continue;
    for (const Filed& filed : filed_) {
      sums[2 * region] += elements(filed, region) / kHalf;
      sums[2 * region + 1] += elements(filed, region) % kHalf;
    }
  }
  if (auto status = comm.allreduce(sums, Reduce::sum); !status) return fail(status.error());
  Lengths lengths{std::vector<std::uint64_t>(roster.size(), 0), {}};
  for (std::uint32_t region = 0; region < roster.size(); ++region) {
    if (roster.entries()[region].kind != Kind::sequence) continue;
    const std::uint64_t high = sums[2 * region] + sums[2 * region + 1] / kHalf;
    lengths.elements[region] = high * kHalf + sums[2 * region + 1] % kHalf;
    const std::uint64_t most = kLargestIndex / std::max<std::uint64_t>(1, row_bytes(roster.entries()[region].type));
    if (high <= kLargestIndex / kHalf && lengths.elements[region] <= most) continue;
    lengths.finding = Finding{.cause = Cause::too_long, .region = roster.entries()[region].type.name};
  }
  return lengths;
}

Findings RankDirectory::compare_likes(const Roster& roster, const std::vector<std::uint64_t>& lengths) const {
  for (std::uint32_t region = 0; region < roster.size(); ++region) {
    const Entry& entry = roster.entries()[region];
    if (entry.kind != Kind::sequence || entry.like.empty()) continue;
    const std::uint32_t model = *roster.find(entry.like);
    const std::uint64_t factor = lengths[model] == 0 ? 0 : lengths[region] / lengths[model];
    for (std::uint32_t i = 0; i < filed_.size(); ++i) {
      const std::uint64_t here = elements(filed_[i], region);
      const std::uint64_t there = elements(filed_[i], model);
      // No product overflows: the factor times all elements of the model is at most the length.
      if (here == factor * there && factor * lengths[model] == lengths[region]) continue;
      return Finding{.cause = Cause::like_counts,
                     .region = entry.type.name,
                     .ranks = {first_ + i},
                     .numbers = {here, there},
                     .texts = {entry.like}};
    }
  }
  return {};
}

}  // namespace cairn::reshape
