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
  lane_of(number.lane).push_back({{payload.size(), crc}, std::move(copy)});
  bytes_ += payload.size();
  return crc;
}

// Most messages are of the present snapshot() call.
SendLog::Messages& SendLog::lane_of(const Lane& lane) {
  if (lane.epoch != recent_epoch_) {
    recent_epoch_ = lane.epoch;
    recent_.clear();
  }
  Messages*& found = recent_[key_of(lane.peer, lane.tag)];
  if (found == nullptr) found = &lanes_[lane];
  return *found;
}

void SendLog::cut(std::uint64_t epoch) {
  while (!lanes_.empty() && lanes_.begin()->first.epoch < epoch) {
    for (Kept& kept : lanes_.begin()->second) {
      bytes_ -= kept.content.bytes;
      blocks_.give_back(std::move(kept.payload));  // empty if it was released
    }
    lanes_.erase(lanes_.begin());
  }
  if (recent_epoch_ < epoch) recent_.clear();
  reaches_ = std::max(reaches_, epoch);
}

LoggedPayload SendLog::release(const Number& number) {
  LoggedPayload payload = std::exchange(lanes_.at(number.lane).at(number.place).payload, {});
  blocks_.give_away(payload);
  return payload;
}

std::set<std::uint32_t> SendLog::peers(std::uint64_t epoch) const {
  std::set<std::uint32_t> peers;
  for (auto lane = lanes_.lower_bound(Lane{epoch, 0, INT32_MIN}); lane != lanes_.end(); ++lane)
    peers.insert(lane->first.peer);
  return peers;
}

std::map<Lane, std::vector<SendLog::Entry>> SendLog::messages_to(std::uint32_t peer, std::uint64_t epoch) const {
  std::map<Lane, std::vector<Entry>> found;
  for (auto lane = lanes_.lower_bound(Lane{epoch, 0, INT32_MIN}); lane != lanes_.end(); ++lane) {
    if (lane->first.peer != peer) continue;
    auto& entries = found[lane->first];
    for (std::size_t place = 0; place < lane->second.size(); ++place)
      entries.push_back({place, lane->second[place].content, lane->second[place].payload.bytes()});
  }
  return found;
}

std::optional<SendLog::Entry> SendLog::find(const Number& number) const {
  const auto lane = lanes_.find(number.lane);
  if (lane == lanes_.end() || number.place >= lane->second.size()) return {};
  const Kept& kept = lane->second[number.place];
  return Entry{number.place, kept.content, kept.payload.bytes()};
}

}  // namespace cairn::replay
