// What a rank has exchanged with the other application ranks since the oldest snapshot that may still be restored, so
// that after a failure only the lost ranks roll back: survivors ship what the lost ones need, and send again what the
// failure has swallowed. A replacement takes from its journal what was shipped to it.
//
// Calls must come in the order of the application's calls. Not thread-safe. Local.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "replay/catch_up.hpp"
#include "replay/channel_book.hpp"
#include "replay/choices.hpp"
#include "replay/number.hpp"
#include "replay/prologue.hpp"
#include "replay/receipts.hpp"
#include "replay/send_log.hpp"
#include "replay/standing.hpp"
#include "rollback/obstacle.hpp"
#include "rollback/phase.hpp"

namespace cairn::replay {

using rollback::Origin;

// A message that a rank sends again.
struct Repeated {
  Number number;
  Buffer payload;
};

class Journal {
 public:
  // Messages take at most `memory` bytes of memory.
  Journal(std::uint32_t me, std::uint64_t memory, Origin origin = Origin::first)
      : me_(me), memory_(memory), origin_(origin), prologue_(me, memory), log_(memory), channels_(me) {}
  // The rank has restored a snapshot that was taken at this call, or starts anew, at call 0. mismatch: it is a
  // replacement, and has not exchanged all messages that the dead rank had exchanged before that.
  [[nodiscard]] Status start(std::uint64_t epoch);
  [[nodiscard]] bool is_started() const { return started_; }
  // Whether it takes the place of a lost rank, and has not taken what survivors shipped to it.
  [[nodiscard]] bool is_replacement() const { return origin_ == Origin::replacement; }
  // Where payloads go for which the memory has no room; see Spill::uses(). Requires: the rank has restored.
  void spills_to(std::uint64_t most_bytes, Spill::Open open) { log_.spills_to(most_bytes, std::move(open)); }

  // What was exchanged before that: for the replacement of `peer`; and to this replacement, by sender.
  [[nodiscard]] Buffer prologue_for(std::uint32_t peer) const { return prologue_.shipment_to(peer); }
  // invalid_argument: it is damaged. unrecoverable: it exceeds the memory for messages.
  [[nodiscard]] Status replays_prologue(const std::map<std::uint32_t, Buffer>& shipped, std::uint32_t ranks);
  [[nodiscard]] Prologue& prologue() { return prologue_; }

  // The communicators that the application makes; and a call by which it makes one.
  [[nodiscard]] ChannelBook& channels() { return channels_; }
  [[nodiscard]] Result<Birthplace> makes_channel(const ChannelBook::Request& request) {
    return channels_.next(request, channel_epoch(), restored_);
  }
  void frees_channel(std::uint64_t number) { channels_.freed(number, channel_epoch()); }

  // The application sends a message. mismatch: the process that this one replaces had sent another one, or none.
  [[nodiscard]] Result<Outgoing> sends(const Stream& to, Bytes payload);
  // The log was full: gives up what it need not keep any more.
  void cut_what_is_void();
  // The application is ready to receive a message.
  [[nodiscard]] Number awaits(const Stream& from) {
    if (!started_) return prologue_.awaits(from);
    is_at_restore_ = false;
    return receives_.next(from);
  }
  // The payload of that message, if it was shipped to this rank; otherwise it has to be received. mismatch: it will not
  // come, since the process that this one replaces has not received it.
  [[nodiscard]] Result<std::optional<Buffer>> shipped(const Number& number);
  // The length of the next such message that the application can be ready for, if it was shipped. mismatch: the same.
  [[nodiscard]] Result<std::optional<std::uint64_t>> next_shipped(const Stream& from) const;
  void received(const Number& number, const Content& content);
  // After restore(), what receives and probes get that name no sender, or no tag.
  [[nodiscard]] Choices& choices() { return choices_; }
  // A shipped message that such a call of a replacement gets.
  [[nodiscard]] std::optional<Number> any_shipped(const Pattern& pattern) const;

  // A snapshot() call begins; no message of the application is under way.
  void enters(std::uint64_t call);
  // That call takes a snapshot of this version.
  void takes(std::uint64_t call, std::uint32_t version) {
    taken_.push_back({call, version});
    logged_when_taken_ = logged_;
  }
  // To be called from time to time: notes how much the log has grown since the last call. Returns whether a quarter of
  // its room is left, or it will be full before the third call from now, if it grows as fast; and a snapshot would
  // help: none has been taken lately.
  [[nodiscard]] bool note_growth();
  // What was logged since the rank has restored, in all, in millionths of what the log can hold.
  [[nodiscard]] std::uint64_t logged_millionths() const;
  // This version and older ones can be given up for it: the log is cut there.
  void is_safe(std::uint32_t version);
  [[nodiscard]] std::uint64_t epoch() const { return sends_.epoch(); }

  // The application does what local rollback does not replay. Until a snapshot that is taken later is safe, or for
  // good, a failure makes all ranks roll back. Returns whether this was not told before.
  using Until = rollback::Until;
  bool obstructs(const std::string& what, Until until);
  // Why a failure makes all ranks roll back; nothing: this rank need not.
  [[nodiscard]] std::optional<std::string> obstacle() const;

  // After a failure. `calls`: of snapshot(), begun; `version`: the highest that this rank has used.
  void has_stamp(std::uint64_t stamp) { stamp_ = stamp; }
  [[nodiscard]] Standing standing(std::uint64_t calls, std::uint32_t version) const;
  // To ranks that are replaced, and to others what this rank has received from them. corrupt and others: a payload
  // cannot be read back from its file.
  [[nodiscard]] Result<std::map<std::uint32_t, Buffer>> shipments(const Agreement& agreement,
                                                                  std::uint64_t epoch) const;
  // `shipped`: to this rank, by sender. Returns the messages that this rank has to send again, in this order.
  // invalid_argument: it is damaged. unrecoverable: it exceeds the room for messages. corrupt and others: as above.
  [[nodiscard]] Result<std::vector<Repeated>> goes_on(const Agreement& agreement, std::uint64_t epoch,
                                                      const std::map<std::uint32_t, Buffer>& shipped);

  // Calls up to this one answer as they did, take no snapshot and join no agreement.
  [[nodiscard]] std::uint64_t past() const { return past_; }
  // The snapshot that such a call has taken; nothing: none.
  [[nodiscard]] std::optional<std::uint32_t> taken_at(std::uint64_t call) const;
  // Whether this rank is a replacement that has not come to where the lost one was.
  [[nodiscard]] bool catches_up() const { return catch_up_.has_value(); }
  // The steps that several processes can compute for this replacement: up to the last snapshot() call that all
  // survivors have made. unrecoverable: none, with the reason.
  [[nodiscard]] Result<LostSteps> steps_to_recompute() const;
  // They have done it, and this rank stands at the end of these steps. mismatch: as CatchUp::recomputed().
  [[nodiscard]] Status recomputed(std::uint64_t call, std::vector<PartResult> parts);
  // Whether it has restored a later snapshot than all ranks did, and so does not repeat what they exchanged between
  // restore() and their next snapshot() call.
  [[nodiscard]] bool began_later() const { return restored_ > began_; }
  // Whether it is a replacement that has exchanged no message and made no snapshot() call since it restored. It must
  // not repeat what ranks exchanged after restore(), even if it has nothing else to catch up with.
  [[nodiscard]] bool is_at_restore() const { return is_at_restore_; }
  // Whether it was a replacement whose messages have not been compared since. If it has exchanged others than the lost
  // one, it may wait for a message that is sent only after that comparison.
  [[nodiscard]] bool is_unchecked_replacement() const { return agreement_.has_value(); }
  // Since a repair, sums of what was sent and received have not been compared: they are, in the first call after
  // past().
  [[nodiscard]] std::optional<std::uint64_t> unchecked_since() const { return unchecked_since_; }
  // Of messages, and of communicators. Added over all ranks, it must be 0.
  [[nodiscard]] std::uint64_t balance(std::uint64_t since) const { return balance_.since(since) + channels_.balance(); }
  void is_checked() {
    unchecked_since_.reset();
    agreement_.reset();
    balance_.cut(cut_);
    channels_.is_checked();
  }

  // What holds between any two calls.
  void check_invariants() const;

 private:
  // For messages.
  [[nodiscard]] std::uint64_t room() const { return memory_ + log_.spill_bytes(); }
  [[nodiscard]] std::string size_of_room() const;
  [[nodiscard]] Result<std::vector<Repeated>> with_payloads(std::vector<Number> numbers) const;
  [[nodiscard]] std::uint64_t channel_epoch() const { return started_ ? epoch() : kBeforeRestore; }
  [[nodiscard]] Status check_size(const std::map<std::uint32_t, Buffer>& shipped) const;
  // Where a receiver of that rank's messages has arrived.
  [[nodiscard]] std::map<Lane, Received> has_from(std::uint32_t peer, std::uint64_t epoch) const;
  void look_whether_caught_up();

  std::uint32_t me_;
  std::uint64_t memory_;
  Origin origin_;
  bool started_ = false;
  std::uint64_t began_ = 0;
  std::uint64_t stamp_ = 0;     // of the record of choices of all ranks that have restored together
  std::uint64_t restored_ = 0;  // the call at which this rank has restored
  bool is_at_restore_ = false;
  Prologue prologue_;
  Counter sends_;
  Counter receives_;
  SendLog log_;
  Receipts receipts_;
  Choices choices_;
  ChannelBook channels_;
  Balance balance_;
  std::uint64_t logged_ = 0;  // bytes of messages that were sent and received, in all
  std::uint64_t logged_when_asked_ = 0;
  std::uint64_t logged_when_taken_ = 0;
  std::vector<Taken> taken_;
  std::uint64_t cut_ = 0;
  std::uint64_t past_ = 0;
  std::optional<std::uint64_t> unchecked_since_;
  std::optional<CatchUp> catch_up_;
  std::optional<Agreement> agreement_;  // by which it has rolled back alone; until its messages have been compared
  struct Obstacle {
    std::string what;
    std::uint64_t from = 0;  // a snapshot of a later call overcomes it
  };
  std::optional<Obstacle> obstacle_;
  std::set<std::string> told_;
};

}  // namespace cairn::replay
