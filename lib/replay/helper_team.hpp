// The processes that recompute the steps of a lost rank together: its replacement, which leads (member 0), and spares,
// which help. The replacement cuts its restored state in parts, one for each live member, and gives each part to a
// member with all messages that the lost rank had received in these steps. Members exchange messages about their parts,
// and the replacement gets back the parts and what the lost rank must have sent. Survivors take no part.
//
// Nothing here can harm: as long as the results are not accepted (Journal::recomputed), the replacement can compute all
// steps alone. Every wait ends when a member is gone, when the replacement stops the attempt, or when a process that
// computes dies (then the Comm fails). After a helper's death the replacement tries again without it.
//
// One thread. Local, but for the messages.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "comm/comm.hpp"
#include "replay/part_order.hpp"

namespace cairn::replay {

class PartWork;

class HelperTeam {
 public:
  struct Setting {
    Comm& comm;
    std::function<bool(std::uint32_t member)> is_gone;  // whether a member has died
    std::chrono::milliseconds limit;  // of a wait: if nothing comes for so long, the attempt has failed
  };
  explicit HelperTeam(Setting setting) : setting_(std::move(setting)) {}

  // Computes a part from its first step to the last. Returns its state then.
  using Compute = std::function<Result<Buffer>(PartWork&)>;
  // Cuts the restored state in so many parts.
  using Split = std::function<Result<std::vector<Buffer>>(std::uint32_t parts)>;

  // The replacement recomputes these steps with the live helpers. Returns their parts, in order. unrecoverable: no
  // helper is left. Other errors: those of the callbacks or of the Comm; then no member waits any more.
  [[nodiscard]] Result<std::vector<PartResult>> recompute(const LostSteps& steps, const Split& split,
                                                          const Compute& compute);
  // A spare helps, if it has been asked to. Returns the number of steps that it has computed. To be called again and
  // again. An error: of the Comm.
  [[nodiscard]] Result<std::uint64_t> help(const Compute& compute);

 private:
  friend class PartWork;
  enum class Kind : std::uint8_t { order, stop, between_parts, result, failed };
  struct Message {
    Kind kind = Kind::stop;
    std::uint32_t attempt = 0;
    std::int32_t tag = 0;
    Buffer payload;
  };
  struct Send {
    Buffer bytes;
    std::unique_ptr<Request> request;
  };
  using Source = std::pair<std::uint32_t, std::int32_t>;  // a member and a tag

  void send(std::uint32_t to, Kind kind, std::int32_t tag, Bytes payload);
  // Takes what has arrived. An error: of the Comm.
  [[nodiscard]] Status take_messages();
  [[nodiscard]] Status take(std::uint32_t from, Message message);
  void begin(std::uint32_t attempt, std::vector<std::uint32_t> members);
  // Why this member cannot go on with its part.
  [[nodiscard]] Status look();
  // Until `done`, or an error.
  [[nodiscard]] Status wait(const std::function<bool()>& done);
  [[nodiscard]] Result<Buffer> message_from(std::uint32_t member, std::int32_t tag);
  // One attempt, as the leader.
  [[nodiscard]] Result<std::vector<PartResult>> lead(const LostSteps& steps, std::vector<Buffer> states,
                                                     const Compute& compute);
  void stop();
  [[nodiscard]] bool has_lost_a_member() const;

  Setting setting_;
  std::uint32_t attempt_ = 0;
  std::vector<std::uint32_t> members_;  // of this attempt, by part
  bool progress_ = false;               // something has come since it was last asked
  std::optional<Error> stopped_;        // why this attempt is over
  std::optional<PartOrder> order_;      // for this member, not yet begun
  std::uint32_t order_attempt_ = 0;
  std::map<std::uint32_t, std::map<Source, std::deque<Buffer>>> inbox_;  // by attempt
  std::map<std::uint32_t, PartResult> results_;                          // by member
  std::deque<Send> sends_;
};

}  // namespace cairn::replay
