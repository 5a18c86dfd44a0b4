// Helpers that are a HelperTeam.
#pragma once

#include <vector>

#include "replay/helper_team.hpp"
#include "rollback/helpers.hpp"

namespace cairn::rollback {

class HelperGroup final : public Helpers {
 public:
  explicit HelperGroup(Setting setting);
  [[nodiscard]] Result<std::vector<replay::PartResult>> recompute(const replay::LostSteps& steps,
                                                                  const SplitState& split) override;
  void help() override;

 private:
  Setting setting_;
  replay::HelperTeam team_;
};

}  // namespace cairn::rollback
