#include "replay/send_log.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "codec/crc32c.hpp"

namespace cairn::replay {
namespace {

constexpr std::size_t kPiece = 8 * kKiB;

}  // namespace

std::optional<std::uint32_t> SendLog::keep(const Number& number, Bytes payload, std::uint64_t receipts) {
  if (!reaches(number.lane.epoch)) return {};
  if (in_memory_ + receipts + bytes_of(number, payload.size()) > memory_)
    return keep_in_file(number, payload, receipts);
  LoggedPayload copy = blocks_.take(payload.size());
  // Each piece is copied and then summed, while it is in the cache.
  std::uint32_t crc = 0;
  for (std::size_t at = 0; at < payload.size(); at += kPiece) {
    const Bytes piece = payload.subspan(at, std::min(kPiece, payload.size() - at));
    copy_bytes(piece, copy.bytes().subspan(at));
    crc = crc32c(piece, crc);
  }
  lanes_.at(number.lane).push_back({{payload.size(), crc}, std::move(copy), {}, kept_++});
  in_memory_ += bytes_of(number, payload.size());
  return crc;
}

Result<std::uint64_t> SendLog::write_to_file(const Number& number, Bytes payload, std::uint64_t receipts) {
  if (has_room_for(receipts + bytes_of(number, payload.size()))) return spill_.append(number.lane.epoch, payload);
  return fail(Code::no_space, fmt::format("{} of {} bytes are taken", bytes() + receipts, memory_ + spill_bytes()));
}

std::optional<std::uint32_t> SendLog::keep_in_file(const Number& number, Bytes payload, std::uint64_t receipts) {
  const auto place = write_to_file(number, payload, receipts);
  if (!place) {
    spill_error_ = place.error();
    gives_up(number.lane.epoch);
    return {};
  }
  in_memory_ += bytes_of(number, 0);
  const std::uint32_t crc = crc32c(payload);
  lanes_.at(number.lane).push_back({{payload.size(), crc}, {}, *place, kept_++});
  return crc;
}

void SendLog::cut(std::uint64_t epoch) {
  lanes_.cut(epoch, [&](Messages& messages) {
    in_memory_ -= kLaneBytes;
    for (Kept& kept : messages) {
      in_memory_ -= kEntryBytes;
      if (kept.spilled) continue;
      in_memory_ -= kept.content.bytes;
      blocks_.give_back(std::move(kept.payload));
    }
  });
  spill_.cut(epoch);
  reaches_ = std::max(reaches_, epoch);
}

std::map<Lane, std::vector<SendLog::Entry>> SendLog::messages_to(std::uint32_t peer, std::uint64_t epoch) const {
  std::map<Lane, std::vector<Entry>> found;
  lanes_.for_each(epoch, [&](const Lane& lane, const Messages& messages) {
    if (lane.peer != peer) return;
    auto& entries = found[lane];
    for (std::size_t place = 0; place < messages.size(); ++place)
      entries.push_back({place, messages[place].content, messages[place].order});
  });
  return found;
}

std::optional<SendLog::Entry> SendLog::find(const Number& number) const {
  const Messages* const messages = lanes_.find(number.lane);
  if (messages == nullptr || number.place >= messages->size()) return {};
  const Kept& kept = (*messages)[number.place];
  return Entry{number.place, kept.content, kept.order};
}

Result<Buffer> SendLog::payload(const Number& number) const {
  const Kept& kept = (*lanes_.find(number.lane))[number.place];
  const Bytes bytes = kept.payload.bytes();
  if (!kept.spilled) return Buffer(bytes.begin(), bytes.end());
  Buffer payload(kept.content.bytes);
  const auto of = [&] { return fmt::format("the copy of {} to rank {}", number, number.lane.peer); };
  if (auto read = spill_.read(*kept.spilled, payload); !read) return fail(read.error().in(of()));
  const std::uint32_t crc = crc32c(payload);
  if (crc == kept.content.crc) return payload;
  return fail(Code::corrupt,
              fmt::format("{}: CRC-32C in its file is {:08x}, should be {:08x}", of(), crc, kept.content.crc));
}

}  // namespace cairn::replay
