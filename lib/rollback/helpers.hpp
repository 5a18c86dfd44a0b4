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
#include <vector>

#include <cairn/lost_part.hpp>

#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/comm.hpp"

namespace cairn::replay {
struct LostSteps;
struct PartResult;
}  // namespace cairn::replay

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
  Helpers() = default;
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;
  virtual ~Helpers() = default;

  // In the replacement, which cuts its state by `split`; see HelperTeam.
  [[nodiscard]] virtual Result<std::vector<replay::PartResult>> recompute(const replay::LostSteps& steps,
                                                                          const SplitState& split) = 0;
  // In a spare: helps, if it has been asked to. If a process that computes has died, the spare learns of it otherwise,
  // too. To be called again and again.
  virtual void help() = 0;
};

}  // namespace cairn::rollback
