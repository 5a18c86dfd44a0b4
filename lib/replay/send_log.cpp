#include "replay/send_log.hpp"

#include <algorithm>
#include <utility>

#include "codec/crc32c.hpp"

namespace cairn::replay {
namespace {

constexpr std::size_t kPiece = 8 * kKiB;

}  // namespace

std::optional<std::uint32_t> SendLog::keep(const Number& number, Bytes payload) {
  if (payload.size() > memory_ - bytes_) reaches_ = std::max(reaches_, number.lane.epoch + 1);
  if (!reaches(number.lane.epoch)) return {};
  LoggedPayload copy = blocks_.take(payload.size());
  // Each piece is copied and then summed, while it is in the cache.
  std::uint32_t crc = 0;
  for (std::size_t at = 0; at < payload.size(); at += kPiece) {
    const Bytes piece = payload.subspan(at, std::min(kPiece, payload.size() - at));
    copy_bytes(piece, copy.bytes().subspan(at));
    crc = crc32c(piece, crc);
  }
  lanes_.at(number.lane).push_back({{payload.size(), crc}, std::move(copy), kept_++});
  bytes_ += payload.size();
  return crc;
}

void SendLog::cut(std::uint64_t epoch) {
  lanes_.cut(epoch, [&](Messages& messages) {
    for (Kept& kept : messages) {
      bytes_ -= kept.content.bytes;
      blocks_.give_back(std::move(kept.payload));  // empty if it was released
    }
  });
  reaches_ = std::max(reaches_, epoch);
}

LoggedPayload SendLog::release(const Number& number) {
  LoggedPayload payload = std::exchange(lanes_.at(number.lane).at(number.place).payload, {});
  blocks_.give_away(payload);
  return payload;
}

std::map<Lane, std::vector<SendLog::Entry>> SendLog::messages_to(std::uint32_t peer, std::uint64_t epoch) const {
  std::map<Lane, std::vector<Entry>> found;
  lanes_.for_each(epoch, [&](const Lane& lane, const Messages& messages) {
    if (lane.peer != peer) return;
    auto& entries = found[lane];
    for (std::size_t place = 0; place < messages.size(); ++place)
      entries.push_back({place, messages[place].content, messages[place].payload.bytes(), messages[place].order});
  });
  return found;
}

std::optional<SendLog::Entry> SendLog::find(const Number& number) const {
  const Messages* const messages = lanes_.find(number.lane);
  if (messages == nullptr || number.place >= messages->size()) return {};
  const Kept& kept = (*messages)[number.place];
  return Entry{number.place, kept.content, kept.payload.bytes(), kept.order};
}

}  // namespace cairn::replay
