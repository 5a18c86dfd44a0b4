// Finds out whether ranks wait for each other, so that none of them can continue. A rank asks all others twice. Each
// answers only while a call of its own waits, with the number of that wait and with what it needs from other ranks. In
// the second round it also says whether it has met a need of the first one.
//
// If no answer has changed and no need is met, all ranks waited at the moment between the rounds, and no message was
// under way that ends a wait: nothing can change any more. A rank that computes does not answer, and then nothing
// follows, however long it takes.
//
// Belongs to one thread. Local: no call waits for another rank.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "comm/comm.hpp"
#include "replay/traffic.hpp"

namespace cairn::replay {

class DeadlockCheck {
 public:
  // Empty: it waits for all ranks to come to one call.
  using Needs = std::vector<Need>;
  // Nothing: the call may end without another rank, or it is not known what it waits for.
  using TellNeeds = std::function<std::optional<Needs>()>;

  // These ranks ask and answer from now on; they have exchanged nothing so far. Requires: leaves() before they end.
  void joins(Comm& ranks);
  void leaves();
  [[nodiscard]] Traffic& traffic() { return traffic_; }

  void begins_wait() { ++wait_; }
  enum class Found { nothing, progress, deadlock };
  // A wait lasts: answers those who ask, and asks if this rank `asks` and is not asking yet. `progress`: an answer has
  // changed, or a need is met; the rank may ask again. After an error of the communicator it finds nothing.
  [[nodiscard]] Found look(bool asks, const TellNeeds& needs);

 private:
  struct Answer {
    std::uint64_t round = 0;
    std::uint64_t wait = 0;
    bool meets = false;  // a need of the first round
    Needs needs;
  };
  enum class Stage { idle, first, second };
  struct Sent {
    Buffer bytes;
    std::unique_ptr<Request> request;
  };
  [[nodiscard]] std::uint32_t me() const { return ranks_->rank().value; }
  [[nodiscard]] static Buffer encode(const Answer& answer);
  void answer_others(const TellNeeds& needs);
  void ask();
  void take_answers();
  [[nodiscard]] bool is_unmoved(const TellNeeds& needs) const;
  [[nodiscard]] bool none_can_continue() const;
  void send(Peer to, Tag tag, Buffer bytes);

  Comm* ranks_ = nullptr;
  Traffic traffic_;
  std::uint64_t wait_ = 0;
  std::vector<Sent> sent_;
  Stage stage_ = Stage::idle;
  std::uint64_t round_ = 0;
  Answer own_;                             // of the first round
  std::map<std::uint32_t, Answer> first_;  // of the others
  std::map<std::uint32_t, Answer> answers_;
};

}  // namespace cairn::replay
