#include "reshape/equal_values.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/sha256.hpp"

namespace cairn::reshape {
namespace {

constexpr std::uint64_t kNobody = std::numeric_limits<std::uint64_t>::max();

// Of its shape and its bytes. 64 bits: nobody attacks by a region of his own job.
Result<std::uint64_t> hash_of(const HeldRegion& held) {
  Sha256Stream stream;
  for (const std::uint64_t& length : held.info->shape) stream.update(std::as_bytes(std::span(&length, 1)));
  const std::uint64_t size = held.info->size_bytes();
  Buffer piece;
  for (std::uint64_t offset = 0; offset < size; offset += piece.size()) {
    piece.resize(std::min<std::uint64_t>(kMiB, size - offset));
    const Run run{offset, piece};
    if (auto status = held.read({&run, 1}); !status) return fail(status.error());
    stream.update(piece);
  }
  const Sha256 digest = stream.finish();
  std::uint64_t hash = 0;
  std::memcpy(&hash, digest.bytes.data(), sizeof(hash));
  return hash;
}

struct Hashes {
  std::map<Holdings::Key, std::uint64_t> of;
  Findings finding;
};

Hashes hashes_of(const Roster& roster, const Holdings& holdings, Kind kind) {
  Hashes hashes;
  for (const auto& [key, held] : holdings.regions()) {
    if (roster.entries()[key.second].kind != kind) continue;
    const auto hash = hash_of(held);
    if (!hash && !hashes.finding) hashes.finding = unreadable(held.info->name, Rank{key.first}, hash.error());
    hashes.of[key] = hash.value_or(0);
  }
  return hashes;
}

}  // namespace

Finding unreadable(const std::string& region, Rank old_rank, const Error& error) {
  return {.cause = Cause::unreadable,
          .region = region,
          .ranks = {old_rank.value},
          .numbers = {static_cast<std::uint64_t>(error.code)},
          .texts = {error.message, error.hint, error.file}};
}

// The least hash is found as the inverse of the greatest inverse; then the lowest rank that has each of the two.
Result<EqualValues> compare_values(Comm& comm, const Roster& roster, const Holdings& holdings, Kind kind) {
  EqualValues values{{}, {}};
  values.different.resize(roster.size());
  if (std::ranges::none_of(roster.entries(), [&](const Entry& entry) { return entry.kind == kind; })) return values;
  Hashes hashes = hashes_of(roster, holdings, kind);
  values.finding = std::move(hashes.finding);
  std::vector<std::uint64_t> extremes(2 * std::size_t{roster.size()}, 0);
  for (const auto& [key, hash] : hashes.of) {
    extremes[2 * key.second] = std::max(extremes[2 * key.second], hash);
    extremes[2 * key.second + 1] = std::max(extremes[2 * key.second + 1], ~hash);
  }
  if (auto status = comm.allreduce(extremes, Reduce::max); !status) return fail(status.error());
  std::vector<std::uint64_t> ranks(extremes.size(), kNobody);
  for (const auto& [key, hash] : hashes.of) {
    const auto [old_rank, region] = key;
    if (hash == extremes[2 * region]) ranks[2 * region] = std::min<std::uint64_t>(ranks[2 * region], old_rank);
    if (~hash == extremes[2 * region + 1])
      ranks[2 * region + 1] = std::min<std::uint64_t>(ranks[2 * region + 1], old_rank);
  }
  if (auto status = comm.allreduce(ranks, Reduce::min); !status) return fail(status.error());
  for (std::uint32_t region = 0; region < roster.size(); ++region) {
    const auto [low, high] = std::minmax(ranks[2 * region], ranks[2 * region + 1]);
    if (low == high || high == kNobody) continue;
    values.different[region].emplace(static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(high));
  }
  return values;
}

Result<Findings> explain_unsaid(Comm& comm, const Roster& roster, const Input& input) {
  const auto is_unsaid = [](const Entry& entry) { return entry.kind == Kind::unsaid; };
  if (std::ranges::none_of(roster.entries(), is_unsaid)) return Findings{};
  const Holdings holdings(input, roster);
  std::vector<std::uint64_t> places(roster.size(), 0);
  for (const auto& [key, held] : holdings.regions()) places[key.second] |= held.info->global_shape.empty() ? 0U : 1U;
  if (auto status = comm.allreduce(places, Reduce::max); !status) return fail(status.error());
  const auto values = compare_values(comm, roster, holdings, Kind::unsaid);
  if (!values) return fail(values.error());
  std::uint64_t unread = values->finding ? 1 : 0;
  if (auto status = comm.allreduce({&unread, 1}, Reduce::max); !status) return fail(status.error());
  Finding finding{.cause = Cause::unsaid};
  for (std::uint32_t region = 0; region < roster.size(); ++region) {
    if (!is_unsaid(roster.entries()[region])) continue;
    const bool equal = unread == 0 && !values->different[region];
    finding.texts.push_back(roster.entries()[region].type.name);
    finding.numbers.push_back((equal ? Hint::equal_everywhere : 0) | (places[region] != 0 ? Hint::has_place : 0));
  }
  return Findings{std::move(finding)};
}

}  // namespace cairn::reshape
