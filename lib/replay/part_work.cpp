#include "replay/part_work.hpp"

#include <utility>

#include <fmt/format.h>

namespace cairn::replay {

Result<bool> PartWork::next_step() {
  if (auto status = team_.look(); !status) return fail(status.error());
  const std::uint64_t next = step_ ? *step_ + 1 : order_.steps.begin;
  if (next > order_.steps.end) return false;
  step_ = next;
  sends_.enter(next);
  receives_.enter(next);
  return next < order_.steps.end;
}

Status PartWork::check_step() const {
  if (step_ && *step_ < order_.steps.end) return {};
  return fail(Code::invalid_argument, "a part exchanges messages before its first step or after its last");
}

Status PartWork::check_part(std::uint32_t part) const {
  if (part < parts() && part != order_.part) return {};
  return fail(Code::invalid_argument,
              fmt::format("part {} exchanges a message with part {} of {}", order_.part, part, parts()));
}

Status PartWork::send(std::uint32_t rank, std::int32_t tag, Bytes payload) {
  if (auto status = check_step(); !status) return status;
  result_.sent.emplace(sends_.next({rank, tag}), Buffer(payload.begin(), payload.end()));
  return {};
}

Result<Buffer> PartWork::receive(std::uint32_t rank, std::int32_t tag) {
  if (auto status = check_step(); !status) return fail(status.error());
  const Number number = receives_.next({rank, tag});
  const auto found = order_.steps.messages.find(number);
  if (found == order_.steps.messages.end())
    return fail(Code::mismatch, fmt::format("part {} receives {} from rank {}, which the lost rank has not received",
                                            order_.part, number, rank));
  result_.taken.insert(number);
  return std::move(found->second);
}

Status PartWork::send_to_part(std::uint32_t part, std::int32_t tag, Bytes payload) {
  if (auto status = check_part(part); !status) return status;
  if (auto status = team_.look(); !status) return status;
  team_.send(order_.members[part], HelperTeam::Kind::between_parts, tag, payload);
  return {};
}

Result<Buffer> PartWork::receive_from_part(std::uint32_t part, std::int32_t tag) {
  if (auto status = check_part(part); !status) return fail(status.error());
  return team_.message_from(order_.members[part], tag);
}

Result<PartResult> PartWork::result(Buffer state) && {
  if (!step_ || *step_ != order_.steps.end)
    return fail(Code::invalid_argument,
                fmt::format("part {} has made {} of {} steps", order_.part, step_ ? *step_ - order_.steps.begin : 0,
                            order_.steps.end - order_.steps.begin));
  result_.state = std::move(state);
  return std::move(result_);
}

}  // namespace cairn::replay
