#include "engine/parts.hpp"

#include <algorithm>
#include <utility>

namespace cairn {
namespace {

// What the first byte of a part says.
constexpr std::byte kBegins{1};
constexpr std::byte kEnds{2};

}  // namespace

std::vector<Buffer> cut_into_parts(Bytes message) {
  std::vector<Buffer> parts;
  std::byte place = kBegins;
  do {
    const Bytes piece = message.first(std::min(message.size(), kMostPartBytes));
    message = message.subspan(piece.size());
    if (message.empty()) place |= kEnds;
    Buffer& part = parts.emplace_back();
    part.reserve(piece.size() + 1);
    part.push_back(std::exchange(place, std::byte{}));
    part.insert(part.end(), piece.begin(), piece.end());
  } while (!message.empty());
  return parts;
}

std::optional<Buffer> PartJoiner::take(Peer from, Bytes part) {
  if (part.empty()) return std::nullopt;
  const std::byte place = part.front();
  const Bytes piece = part.subspan(1);
  auto begun = begun_.find(from);
  if ((place & kBegins) != std::byte{}) begun = begun_.insert_or_assign(from, Buffer()).first;
  if (begun == begun_.end()) return std::nullopt;
  Buffer& message = begun->second;
  message.insert(message.end(), piece.begin(), piece.end());
  const bool fits = message.size() <= most_;
  if (fits && (place & kEnds) == std::byte{}) return std::nullopt;
  std::optional<Buffer> whole;
  if (fits) whole = std::move(message);
  begun_.erase(begun);
  return whole;
}

}  // namespace cairn
