// A part of the steps of a lost rank, while a member of a HelperTeam computes it.
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
#include "rollback/lost_work.hpp"

namespace cairn::replay {

class PartWork final : public rollback::LostWork {
 public:
  PartWork(HelperTeam& team, PartOrder order) : team_(team), order_(std::move(order)) {}

  [[nodiscard]] std::uint32_t part() const override { return order_.part; }
  [[nodiscard]] std::uint32_t parts() const override { return static_cast<std::uint32_t>(order_.members.size()); }
  [[nodiscard]] std::uint32_t rank() const override { return order_.steps.rank; }
  [[nodiscard]] std::uint32_t ranks() const override { return order_.steps.ranks; }
  [[nodiscard]] const Buffer& state() const override { return order_.state; }
  [[nodiscard]] const LostSteps& steps() const { return order_.steps; }

  [[nodiscard]] Result<bool> next_step() override;
  [[nodiscard]] Status send(std::uint32_t rank, std::int32_t tag, Bytes payload) override;
  [[nodiscard]] Result<Buffer> receive(std::uint32_t rank, std::int32_t tag) override;
  [[nodiscard]] Status send_to_part(std::uint32_t part, std::int32_t tag, Bytes payload) override;
  [[nodiscard]] Result<Buffer> receive_from_part(std::uint32_t part, std::int32_t tag) override;

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
