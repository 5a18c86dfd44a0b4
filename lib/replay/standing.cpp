#include "replay/standing.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cairn::replay {

Buffer encode(const Standing& standing) {
  ByteWriter out;
  out.put(standing.replaced);
  out.put(standing.version);
  for (const std::uint64_t value : {standing.calls, standing.past, standing.began, standing.stamp, standing.reaches})
    out.put(value);
  out.put(static_cast<std::uint64_t>(standing.taken.size()));
  for (const Taken& taken : standing.taken) {
    out.put(taken.call);
    out.put(taken.version);
  }
  return out.take();
}

Result<Standing> decode_standing(Bytes bytes) {
  ByteReader in(bytes);
  Standing standing;
  standing.replaced = in.get<bool>();
  standing.version = in.get<std::uint32_t>();
  for (std::uint64_t* const value :
       {&standing.calls, &standing.past, &standing.began, &standing.stamp, &standing.reaches})
    *value = in.get<std::uint64_t>();
  const auto count = in.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < count && in.good(); ++i) {
    const auto call = in.get<std::uint64_t>();
    standing.taken.push_back({call, in.get<std::uint32_t>()});
  }
  if (!in.good() || in.remaining() != 0)
    return fail(Code::invalid_argument,
                fmt::format("a message of {} bytes about a rank's log is damaged: its length does not fit its contents",
                            bytes.size()));
  return standing;
}

Result<Agreement> agree_on(std::span<const Standing> ranks, std::uint64_t epoch) {
  Agreement agreement{.ranks = static_cast<std::uint32_t>(ranks.size()),
                      .newest = epoch,
                      .oldest = UINT64_MAX,
                      .version = 0,
                      .began = epoch,
                      .stamp = 0,
                      .taken = {},
                      .replaced = {}};
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    const Standing& standing = ranks[rank];
    agreement.version = std::max(agreement.version, standing.version);
    if (standing.replaced) {
      agreement.replaced.push_back(rank);
      continue;
    }
    if (standing.reaches > epoch)
      return fail(Code::unrecoverable,
                  fmt::format("the message log of rank {} begins at snapshot() call {}, and the restored snapshot was "
                              "taken at call {}",
                              rank, standing.reaches, epoch));
    agreement.newest = std::max({agreement.newest, standing.calls, standing.past});
    agreement.oldest = std::min(agreement.oldest, standing.calls);
    agreement.began = standing.began;
    agreement.stamp = standing.stamp;
    for (const Taken& taken : standing.taken) {
      const auto at = std::ranges::lower_bound(agreement.taken, taken.call, {}, &Taken::call);
      if (at == agreement.taken.end() || at->call != taken.call) agreement.taken.insert(at, taken);
    }
  }
  if (agreement.oldest == UINT64_MAX) agreement.oldest = epoch;
  return agreement;
}

}  // namespace cairn::replay
