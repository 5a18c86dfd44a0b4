#include <fmt/format.h>
#include <cairn/lost_part.hpp>

#include "rollback/lost_work.hpp"

namespace cairn {
namespace {

using rollback::value_or_stop;

void copy_message(const Buffer& message, MutableBytes to) {
  if (message.size() != to.size())
    throw Exception(ErrorKind::usage,
                    fmt::format("a message of {} bytes is received as {} bytes", message.size(), to.size()));
  copy_bytes(message, to);
}

}  // namespace

std::uint32_t LostPart::part() const { return work_.part(); }
std::uint32_t LostPart::parts() const { return work_.parts(); }
std::uint32_t LostPart::rank() const { return work_.rank(); }
std::uint32_t LostPart::ranks() const { return work_.ranks(); }
std::span<const std::byte> LostPart::state() const { return work_.state(); }
bool LostPart::next_step() { return value_or_stop(work_.next_step()); }

void LostPart::send_bytes(std::uint32_t rank, int tag, std::span<const std::byte> bytes) {
  value_or_stop(work_.send(rank, tag, bytes));
}
void LostPart::receive_bytes(std::uint32_t rank, int tag, std::span<std::byte> bytes) {
  copy_message(value_or_stop(work_.receive(rank, tag)), bytes);
}
void LostPart::send_bytes_to_part(std::uint32_t part, int tag, std::span<const std::byte> bytes) {
  value_or_stop(work_.send_to_part(part, tag, bytes));
}
void LostPart::receive_bytes_from_part(std::uint32_t part, int tag, std::span<std::byte> bytes) {
  copy_message(value_or_stop(work_.receive_from_part(part, tag)), bytes);
}

}  // namespace cairn
