// A call in which a rank waits for other ranks, from a repair after which only the lost ranks have rolled back until
// all ranks have compared their messages. What a replacement waits for may never come, if it has exchanged other
// messages than the dead rank. Then all ranks wait for each other, or for it, and have to roll back.
//
// Belongs to one thread. Local.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "replay/deadlock_check.hpp"
#include "replay/journal.hpp"

namespace cairn::replay {

class LongWait {
 public:
  using Clock = std::chrono::steady_clock;
  // The wait begins. `limit`: of a replacement. The journal and the check must outlive this object.
  LongWait(const Journal& journal, DeadlockCheck& check, std::chrono::milliseconds limit);

  enum class Verdict { goes_on, deadlock, too_long };
  // To be called again and again while the wait lasts. `needs`: see DeadlockCheck.
  [[nodiscard]] Verdict look(const DeadlockCheck::TellNeeds& needs);
  // Why all ranks roll back, without the name of the rank; `call`: in which it waits. Requires: not goes_on.
  [[nodiscard]] std::string text(Verdict verdict, const std::string& call) const;

 private:
  [[nodiscard]] std::optional<DeadlockCheck::Needs> known(const DeadlockCheck::TellNeeds& needs,
                                                          Clock::duration waited) const;

  const Journal& journal_;
  DeadlockCheck& check_;
  std::chrono::milliseconds limit_;
  Clock::time_point began_ = Clock::now();
  Clock::time_point next_look_;
  Clock::time_point next_question_;
};

}  // namespace cairn::replay
