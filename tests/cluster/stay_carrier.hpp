// Carries the messages of one rank that is a thread, as MessageCarrier does over MPI: each is numbered and logged by
// the session's Journal, and a failure is repaired inside the call that it strikes.
//
// Belongs to one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "replay/deadlock_check.hpp"
#include "replay/journal.hpp"
#include "replay/long_wait.hpp"
#include "replay/program.hpp"
#include "session/session_impl.hpp"
#include "stay_network.hpp"

namespace cairn::test {

class StayCarrier {
 public:
  struct Setting {
    SessionImpl& session;
    StayNetwork& network;
    // Whether the world is over, or will be, since a process has died.
    std::function<bool()> is_troubled;
    // Repairs the job. True: this rank continues its call. Otherwise the application rolls back.
    std::function<bool()> stays;
    std::chrono::milliseconds limit;  // of a catch-up that stands still
    // All ranks are to leave this world.
    std::function<void()> cut;
    // An operation begins: throws if the process dies there.
    std::function<void(const std::string& operation)> begins;
    std::uint64_t seed = 0;
  };
  explicit StayCarrier(Setting setting) : setting_(std::move(setting)), random_(setting_.seed) {}

  using Received = std::function<void(std::uint32_t from, Bytes payload)>;
  void begin_send(const Operation& operation, Buffer payload);
  void begin_receive(const Operation& operation);
  // From any rank.
  void begin_receive_any(const Operation& operation);
  // Until all that was begun is over; in the order of the calls.
  void wait_all(const Received& received);

  // A survivor leaves the world: some of what has come is received yet.
  void harvest();
  // It is in the next one: what is pending goes on, and what the rank has to is sent again.
  void goes_on();

 private:
  struct Pending {
    bool sends = false;
    replay::Number number;
    StayNetwork::Arrival arrival;        // of a message that is sent
    std::optional<std::int32_t> any;     // of a receive from any rank that has no message yet: its tag
    std::optional<std::uint64_t> place;  // the same: see replay::Choices
    std::optional<std::uint64_t> early;  // the same before restore(): see replay::Prologue
    std::optional<replay::Need> need;    // of a message that is sent
    Buffer payload;
    bool is_complete = false;
  };
  [[nodiscard]] rollback::LoggedRank& logged() { return *setting_.session.logged(); }
  [[nodiscard]] replay::Journal& journal() { return logged().journal(); }
  [[nodiscard]] std::uint32_t me() const { return setting_.session.rank().value; }
  void receive_from(std::uint32_t peer, std::int32_t tag, Pending& pending);
  bool advance();
  bool advance_any(Pending& pending);
  bool take_message(Pending& pending);
  void choose(Pending& pending, std::uint32_t peer);
  void complete(Pending& pending, Buffer payload);
  void after_failure();
  void wait(std::uint64_t seen, std::optional<replay::LongWait>& long_wait);
  [[nodiscard]] std::optional<replay::DeadlockCheck::Needs> needs();
  // Until all ranks have compared their messages after a repair.
  [[nodiscard]] replay::Traffic* traffic() {
    return logged().is_unchecked() ? &logged().deadlocks().traffic() : nullptr;
  }
  void posted(const Pending& pending);
  [[noreturn]] void rolls_back(const Error& why);

  Setting setting_;
  std::mt19937_64 random_;
  std::vector<Pending> pending_;
};

}  // namespace cairn::test
