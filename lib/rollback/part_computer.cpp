#include "rollback/part_computer.hpp"

#include <exception>
#include <utility>

#include <fmt/format.h>

#include "replay/part_work.hpp"

namespace cairn {
namespace {

// `what`: a name for an error that the application throws.
template <class Value, class Call>
Result<Value> value_of(const char* what, Call call) {
  const auto failed = [&](const char* text) {
    return fail(Code::invalid_argument, fmt::format("{} has failed: {}", what, text));
  };
  try {
    return call();
  } catch (const Exception& error) {
    if (error.kind() == ErrorKind::rollback) return fail(Code::communication, error.what());
    return failed(error.what());
  } catch (const std::exception& error) {
    return failed(error.what());
  } catch (...) {
    return failed("an exception of unknown type");
  }
}

void copy_message(const Buffer& message, MutableBytes to) {
  if (message.size() != to.size())
    throw Exception(ErrorKind::usage,
                    fmt::format("a message of {} bytes is received as {} bytes", message.size(), to.size()));
  copy_bytes(message, to);
}

}  // namespace

replay::HelperTeam::Compute computer_of(ComputePart compute) {
  return [compute = std::move(compute)](replay::PartWork& work) {
    LostPart part(work);
    return value_of<Buffer>("the function that computes a part", [&] { return compute(part); });
  };
}

replay::HelperTeam::Split splitter_of(SplitState split) {
  return [split = std::move(split)](std::uint32_t parts) {
    return value_of<std::vector<Buffer>>("the function split of on_loss()", [&] { return split(parts); });
  };
}

std::uint32_t LostPart::part() const { return work_.part(); }
std::uint32_t LostPart::parts() const { return work_.parts(); }
std::uint32_t LostPart::rank() const { return work_.steps().rank; }
std::uint32_t LostPart::ranks() const { return work_.steps().ranks; }
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
