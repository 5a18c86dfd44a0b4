// The processes that recompute the steps of a lost rank together ([replay] helpers): this one is its replacement, or a
// spare that helps. See replay/helper_team.
//
// One thread. Local, but for the messages.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <cairn/lost_part.hpp>

#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/comm.hpp"
#include "replay/helper_team.hpp"
#include "replay/part_work.hpp"
#include "rollback/part_computer.hpp"

namespace cairn::rollback {

class Helpers {
 public:
  struct Setting {
    std::unique_ptr<Comm> comm;                         // member 0 is the replacement
    std::function<bool(std::uint32_t member)> is_gone;  // whether a member has died
    std::chrono::milliseconds limit;                    // of a wait
    ComputePart compute;
    std::string me;  // as the log names this process
    Log log;
  };
  explicit Helpers(Setting setting)
      : setting_(std::move(setting)),
        team_({.comm = *setting_.comm, .is_gone = setting_.is_gone, .limit = setting_.limit}) {}
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  // In the replacement; see HelperTeam.
  [[nodiscard]] Result<std::vector<replay::PartResult>> recompute(const replay::LostSteps& steps,
                                                                  const replay::HelperTeam::Split& split) {
    return team_.recompute(steps, split, computer_of(setting_.compute));
  }
  // In a spare: helps, if it has been asked to. If a process that computes has died, the spare learns of it otherwise,
  // too. To be called again and again.
  void help() {
    (void)team_.help([&](replay::PartWork& work) {
      setting_.log.debug("{} recomputes part {} of {} of rank {}", setting_.me, work.part(), work.parts(),
                         work.steps().rank);
      return computer_of(setting_.compute)(work);
    });
  }

 private:
  Setting setting_;
  replay::HelperTeam team_;
};

}  // namespace cairn::rollback
