// The seal desk: from the shards that ranks have written to a version that all nodes have at L1. It digests a node's
// shards, writes the manifest, and takes the votes of all heads (engine/vote), in the order of versions, which is the
// same on every head. It also takes the vote that no version is left, after which a restore or the end can begin.
//
// One thread. Votes are collective among heads, and are never waited for.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/trace.hpp"
#include "comm/comm.hpp"
#include "engine/given_notes.hpp"
#include "engine/head.hpp"
#include "engine/layout_change.hpp"
#include "engine/life.hpp"
#include "engine/promoter.hpp"
#include "engine/vote.hpp"
#include "recover/catalog.hpp"

namespace cairn {

class SealDesk {
 public:
  SealDesk(Head& head, Catalog& catalog, Life& life, Promoter& promoter)
      : head_(head), catalog_(catalog), life_(life), promoter_(promoter), change_(head, catalog) {}

  // A rank has written its shard, or could not.
  void receive(Rank from, const Seal& seal);
  // Starts the next vote and concludes those that are done; false: there was nothing to do.
  [[nodiscard]] Result<bool> advance();

  // On all nodes: no vote is under way, and no new version comes before the ranks have had their answer.
  [[nodiscard]] bool nothing_is_left() const { return sealing_.empty() && closed_; }
  // Set when some ranks wait for a restore and others for the end, so that neither can begin. Returned once.
  [[nodiscard]] std::optional<Error> take_different_calls() { return std::exchange(different_calls_, {}); }
  // What the ranks wait to have restored. Requires: nothing is left, and they wait for a restore.
  [[nodiscard]] const Result<RestoreRequest>& request() const { return request_; }
  // Whether they have given a label, which a head without ranks does not know. The same on all heads.
  [[nodiscard]] bool is_for_label() const { return for_label_; }
  // Ranks have had their answer, and go on.
  void reopen() { closed_ = all_voted_ = false; }
  // Since the last answer.
  [[nodiscard]] bool all_have_voted() const { return all_voted_; }

  [[nodiscard]] bool idle() const { return sealing_.empty(); }
  // A version up to this one is being sealed.
  [[nodiscard]] bool busy_with(Version version) const {
    return !sealing_.empty() && sealing_.begin()->first <= version;
  }
  // The highest number that any rank has used, as far as is known here.
  [[nodiscard]] Version last_version() const { return last_version_; }
  void begin_after(Version version) { last_version_ = version; }
  // What holds between any two calls.
  void check_invariants() const;

 private:
  // A snapshot being sealed, until the heads have voted on it.
  struct Sealing {
    std::uint64_t safe_point = 0;
    LevelSet levels;
    std::uint64_t bytes = 0;
    std::set<Rank> ranks;
    std::optional<Error> error;
    GivenNotes notes;
    bool pin = false;
    std::map<Rank, Destinations> destinations;
    Vote vote;
    std::shared_ptr<const Layout> offered;  // in that vote
    // What is voted on: whether the life may begin, where that is not known yet; whether all nodes have sealed it; and,
    // of a chain's first snapshot, whether it is recorded that there are some.
    enum class Step { begin, seal, record } step = Step::seal;
    std::unique_ptr<Request> voting;
    Trace::Span vote_span;
  };

  [[nodiscard]] bool start_vote();
  void start_closing_vote();
  void call_vote(Version version, Sealing& sealing, const Status& mine);
  void note_losses(Vote& vote);
  void strike_losses(const Vote& vote);
  [[nodiscard]] Result<bool> conclude_votes();
  [[nodiscard]] bool goes_on(Version version, Sealing& sealing);
  void conclude(Version version, const Sealing& sealing);
  void abandon(Version version, const Sealing& sealing, const Error& objection);
  [[nodiscard]] Status begin_here(const Sealing& sealing);
  [[nodiscard]] Status seal_here(Version version, Sealing& sealing);
  void check_space(const Sealing& sealing);

  Head& head_;
  Catalog& catalog_;
  Life& life_;
  Promoter& promoter_;
  LayoutChange change_;
  std::map<Version, Sealing> sealing_;
  // The vote that no version is left, while ranks wait for a restore or for the end.
  std::optional<Vote> closing_;
  std::unique_ptr<Request> closing_vote_;
  bool closed_ = false;
  bool all_voted_ = false;
  std::optional<Error> different_calls_;
  Result<RestoreRequest> request_;
  bool for_label_ = false;
  Version last_version_;
  LevelSet owed_;  // what abandoned versions were to reach; the same on all heads
  bool space_checked_ = false;
};

}  // namespace cairn
