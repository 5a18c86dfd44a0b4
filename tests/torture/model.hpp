// What Cairn has promised so far, and what may therefore come back. The judge: it uses nothing of the library, and
// knows only what the application was told and what happened to the stores.
//
// A version that was told to be safe at a level comes back, or a newer one does, whatever happens within what that
// level survives: a file that is damaged costs the version that it is of, and as many as are kept outlive it; a store
// that is lost under way takes what was in it, and nothing of later versions; one that cannot be read or written for a
// while takes nothing. What comes back is one safe point on all ranks, byte for byte. What is beyond a promise may be
// refused, and is never guessed. A start is fresh only where nothing was told to be safe, the end of the chain is
// recorded, its records are lost, or the user asked for it. A start that was refused changes nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "torture/branches.hpp"

namespace cairn::torture {

// Begins an error that was read from the log, which does not contain its kind.
inline constexpr const char* kFromLog = "in the log: ";

// What one rank saw of a restore that went well.
struct Restored {
  bool fresh = true;
  std::uint32_t version = 0;
  std::uint64_t stamp = 0;  // of the state that came back
  bool of_other_ranks = false;
};

// How ranks asked for a snapshot: by restore(), by restore(version), which may be the first call of a life, or by
// open_snapshot(), of the newest or of the newest pinned one.
struct Asked {
  enum class By { restore, first_choice, choice, open, open_pinned } by = By::restore;
  std::uint32_t version = 0;  // of a choice
};

// What a life is about.
struct Circumstances {
  std::set<std::uint32_t> hosts;  // whose stores are opened
  std::uint32_t copies = 1;       // what L2 and L3 are to survive; 0: they are off
  std::uint32_t parity = 1;
  std::uint32_t keep_local = 1;  // versions of L1 to L3, and of L4
  std::uint32_t keep_global = 1;
  std::uint64_t first_stamp = 0;  // of the states of this life, and of later ones
  // What may go wrong in it on purpose: nothing; calls may fail, and its end may come at any moment; stores may fail,
  // so that something older comes back.
  enum class Faults { none, of_calls, of_stores } faults = Faults::none;
  // Where nothing else fails: stores of which one read does. What holds without them comes back.
  std::set<std::optional<std::uint32_t>> shaky = {};
  bool anew = false;       // it is to begin fresh, or does not ask for what there is
  bool required = false;   // it is not to begin fresh
  bool others = false;     // something of a newer format is there, or of another key
  bool strangers = false;  // its ranks are others
};

class Model {
 public:
  // Before a life, or in it: a host's store lost a file that is of no version, or all; the global one likewise.
  void host_is_hurt(std::uint32_t host);
  void global_is_hurt(bool lost);
  // Before a life, or in it: the store of a host, or the global one, lost a file of this version, or all of them.
  void version_is_hurt(std::optional<std::uint32_t> host, std::uint32_t version);
  // What says whose snapshots the stores hold was damaged: those of hosts that are away then may be refused later.
  void mark_is_hurt() { mark_was_lost_ = true; }
  void begin_life(Circumstances circumstances);

  // The application is about to take a snapshot of the state of this stamp; the version it was given.
  void tries(std::uint64_t stamp);
  void takes(std::uint32_t version, std::uint64_t stamp);
  // The snapshot of this state will be pinned.
  void pins(std::uint64_t stamp) { branches_.pins(stamp); }
  // A rank is about to choose a version; or to reject the state of this version, and all ranks have.
  void chooses(const Asked& asked);
  void rejects(std::uint32_t version, std::uint64_t stamp);
  void has_rejected(std::uint64_t stamp);
  // Some rank was told that this version is safe.
  void is_safe(std::uint32_t level, std::uint32_t version);
  // A finalize ended the chain, as its record says, and went well on all ranks; or it may have ended it.
  void finished(bool for_certain);
  // A finalize that was to end the chain did not: no record says so. It may have emptied node stores, for what is in
  // the global one by then.
  void ends_badly();

  // What is wrong with a restore, of what ranks saw of it, those that did not fail; and of the text of an error, empty
  // where there was none. Empty: nothing is wrong.
  [[nodiscard]] std::string judge(const std::vector<Restored>& seen, const std::string& error, Asked asked = {});

  // The newest version that must come back; 0: none.
  [[nodiscard]] std::uint32_t promised() const;
  // Whether the job's state is a snapshot of another number of ranks, and no other was tried since: a finalize keeps
  // it, and does not end the chain. And whether that may still be so, or the newest snapshot was rejected.
  [[nodiscard]] bool keeps_the_old() const { return state_ == State::of_other_ranks; }
  [[nodiscard]] bool may_keep_the_old() const { return state_ != State::own || rejected_now_ > 0; }
  // Whether this life has taken this version, and was told that it is safe.
  [[nodiscard]] bool is_of_this_life(std::uint32_t version) const;

 private:
  using Faults = Circumstances::Faults;
  // What a version was taken of, and with which stores.
  struct Taken {
    std::uint64_t stamp = 0;
    std::set<std::uint32_t> hosts;
    bool safe = false;  // it was told to be, in the life that took it
    bool hurt = false;  // one of the stores, since then
  };
  struct Promise {
    std::uint32_t version = 0;
    std::uint32_t level = 1;
    bool of_this_life = true;
    std::set<std::uint32_t> hosts;
    std::uint32_t survives = 0;    // losses of hosts
    std::set<std::uint32_t> hurt;  // since then
    bool global_hurt = false;
    // States tried since then that may have become as safe, but for those that are hurt or were given up; and whether
    // there ever were as many as are kept.
    std::set<std::uint64_t> newer;
    std::uint32_t keep = 1;
    bool may_be_retired = false;
    bool may_be_over = false;             // a chain began anew since then, and has tried a snapshot
    bool may_be_in_global_alone = false;  // and in no node store any more
    bool is_of_other_ranks = false;       // it is the state of this life, and stays as it is until another is tried
  };
  // In this life: the store of a host, or the global one, lost a version; and the newest state that was tried by then.
  struct Robbery {
    std::optional<std::uint32_t> host;
    std::uint32_t version = 0;
    std::uint64_t until = 0;
  };
  void hurt(Promise& promise, std::optional<std::uint32_t> host) const;
  void rob(Promise& promise, const Robbery& robbery) const;
  [[nodiscard]] std::uint64_t losses_of(const Promise& promise) const;
  [[nodiscard]] bool holds(const Promise& promise) const;
  [[nodiscard]] std::uint32_t promised_without_shaky() const;
  [[nodiscard]] bool all_can_be_read() const { return now_.faults != Faults::of_stores || !now_.shaky.empty(); }
  [[nodiscard]] std::uint64_t stamp_of(std::uint32_t version) const;
  [[nodiscard]] std::uint64_t state_of(std::uint32_t version) const;
  [[nodiscard]] bool may_be(const std::vector<Taken>& takings, std::uint64_t stamp) const;
  void move(Promise& promise) const;
  void replace(Promise& promise) const;
  void give_up_what_is_newer_than(const Restored& seen);
  void give_up_what_may_be_retired();
  [[nodiscard]] bool may_be_a_choice(const Asked& asked) const;
  [[nodiscard]] bool is_a_choice(const Asked& asked) const;
  [[nodiscard]] std::string judge_choice(const std::vector<Restored>& seen, const std::string& error,
                                         std::uint32_t version);
  [[nodiscard]] std::string judge_open(const std::vector<Restored>& seen, const std::string& error, Asked::By by) const;
  [[nodiscard]] std::string judge_fresh() const;
  [[nodiscard]] std::string judge_restored(const Restored& seen) const;
  [[nodiscard]] std::string judge_error(const std::string& error) const;

  Circumstances now_;
  std::map<std::uint32_t, std::vector<Taken>> taken_;  // by version
  std::set<std::uint32_t> safe_;                       // those that were ever told to be
  std::set<std::uint64_t> tried_;
  std::set<std::uint64_t> told_;       // those whose snapshot() returned a version, instead of an earlier one's error
  std::set<std::uint32_t> taken_now_;  // versions of this life
  std::vector<Promise> promises_;
  std::optional<std::vector<Promise>> promises_before_choice_;
  std::map<std::uint32_t, std::uint64_t> came_back_;  // stamps of versions
  Branches branches_;
  // Of this life: the newest state that was tried when a host's store was hurt, or the global one.
  std::map<std::optional<std::uint32_t>, std::uint64_t> hurt_now_;
  std::vector<Robbery> robbed_now_;
  // Of this life: a snapshot of as many ranks; one of others; or others', and the next was tried, which is not safe.
  enum class State { own, of_other_ranks, tried_since } state_ = State::own;
  std::uint32_t rejected_now_ = 0;  // the newest version, and no newer one was told to be safe since then; 0: none
  bool may_be_fresh_ = true;
  bool must_be_fresh_ = false;
  bool global_was_lost_ = false;
  bool mark_was_lost_ = false;
};

}  // namespace cairn::torture
