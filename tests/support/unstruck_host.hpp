// A process of a job that could repair itself, and in which no process dies: nothing asks it for a repair.
#pragma once

#include <functional>

#include "base/error.hpp"
#include "rollback/host.hpp"

namespace cairn::test {

class UnstruckHost final : public rollback::Host {
 public:
  [[nodiscard]] bool computes() const override { return true; }
  void alarm() override {}
  [[nodiscard]] bool is_alarmed() override { return false; }
  [[nodiscard]] bool vote(bool ok, const std::function<void()>& /*meanwhile*/) override { return ok; }
  [[nodiscard]] bool meet(const rollback::Vote& /*vote*/) override { return false; }
  void tell_of_failure() override {}
  [[nodiscard]] rollback::LoggedRank* rank() override { return nullptr; }
  void look_for_obstacles() override {}
  void passes_restore() override {}
  void passes_safe_point() override {}
  [[nodiscard]] bool leave_world() override { return false; }
  [[nodiscard]] Status join_world() override { return fail(Code::communication, "no process has died"); }
  [[nodiscard]] Status adopt() override { return join_world(); }
  [[nodiscard]] Status settle_offer() override { return join_world(); }
  void go_on() override {}
  [[nodiscard]] Status check_messages() override { return {}; }
  [[nodiscard]] rollback::Helpers* helpers() override { return nullptr; }
};

}  // namespace cairn::test
