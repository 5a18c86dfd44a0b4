#include "replay/log_memory.hpp"

namespace cairn::replay {
namespace {

constexpr std::size_t kShort = 512;  // payloads up to here are left to the allocator

std::size_t room_for(std::size_t bytes) { return round_up(bytes, kShort); }

}  // namespace

LoggedPayload LogMemory::take(std::size_t bytes) {
  if (bytes <= kShort) return {std::make_unique_for_overwrite<std::byte[]>(bytes), bytes};
  const std::size_t room = room_for(bytes);
  Blocks& free = free_[room];
  if (!free.empty()) {
    LoggedPayload payload(std::move(free.back()), bytes);
    free.pop_back();
    return payload;
  }
  for (auto& [size, blocks] : free_) {
    for (; bytes_ + room > most_ && !blocks.empty(); blocks.pop_back()) bytes_ -= size;
  }
  bytes_ += room;
  return {std::make_unique_for_overwrite<std::byte[]>(room), bytes};
}

void LogMemory::give_back(LoggedPayload payload) {
  if (payload.bytes_ > kShort) free_[room_for(payload.bytes_)].push_back(std::move(payload.memory_));
}

}  // namespace cairn::replay
