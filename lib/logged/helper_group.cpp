#include "logged/helper_group.hpp"

#include <utility>

#include "logged/part_computer.hpp"
#include "replay/part_work.hpp"

namespace cairn::rollback {

HelperGroup::HelperGroup(Setting setting)
    : setting_(std::move(setting)),
      team_({.comm = *setting_.comm, .is_gone = setting_.is_gone, .limit = setting_.limit}) {}

Result<std::vector<replay::PartResult>> HelperGroup::recompute(const replay::LostSteps& steps,
                                                               const SplitState& split) {
  return team_.recompute(steps, splitter_of(split), computer_of(setting_.compute));
}

void HelperGroup::help() {
  (void)team_.help([&](replay::PartWork& work) {
    setting_.log.debug("{} recomputes part {} of {} of rank {}", setting_.me, work.part(), work.parts(),
                       work.steps().rank);
    return computer_of(setting_.compute)(work);
  });
}

}  // namespace cairn::rollback
