// A part of the steps of a lost rank, while a member of a HelperTeam computes it. Errors end the part:
// Code::communication if it is not needed any more, or somebody has died.
//
// One thread. Local, but for messages between parts.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "replay/helper_team.hpp"
#include "replay/number.hpp"
#include "replay/part_order.hpp"

namespace cairn::replay {

class PartWork {
 public:
  PartWork(HelperTeam& team, PartOrder order) : team_(team), order_(std::move(order)) {}

  [[nodiscard]] std::uint32_t part() const { return order_.part; }
  [[nodiscard]] std::uint32_t parts() const { return static_cast<std::uint32_t>(order_.members.size()); }
  [[nodiscard]] const LostSteps& steps() const { return order_.steps; }
  [[nodiscard]] const Buffer& state() const { return order_.state; }

  // Begins the next step. False: all are done.
  [[nodiscard]] Result<bool> next_step();
  // A message of the lost rank in this step, to or from another rank. mismatch: it has received none.
  [[nodiscard]] Status send(std::uint32_t rank, std::int32_t tag, Bytes payload);
  [[nodiscard]] Result<Buffer> receive(std::uint32_t rank, std::int32_t tag);
  // Messages between parts.
  [[nodiscard]] Status send_to_part(std::uint32_t part, std::int32_t tag, Bytes payload);
  [[nodiscard]] Result<Buffer> receive_from_part(std::uint32_t part, std::int32_t tag);

  // What has become of it. invalid_argument: not all steps were made.
  [[nodiscard]] Result<PartResult> result(Buffer state) &&;

 private:
  [[nodiscard]] Status check_part(std::uint32_t part) const;
  [[nodiscard]] Status check_step() const;

  HelperTeam& team_;
  PartOrder order_;
  std::optional<std::uint64_t> step_;  // nothing: none has begun
  Counter sends_;
  Counter receives_;
  PartResult result_;
};

}  // namespace cairn::replay
