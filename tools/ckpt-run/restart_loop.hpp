// Decides after each life of a job whether there will be another, on which hosts, and what it is told. It starts
// nothing and asks nothing: the caller tells it what happened, so it can be tested without processes.
//
//   a life ended ─▶ finished or stopped?                      done, with the code that came after it
//                   code 0, and never opened a session?       done: the program does not use Cairn
//                   the program cannot be run?                give up: the command line is wrong
//                   an error that a restart cannot mend?      give up, with its words
//                   code 0 without finalize, twice in a row?  give up: the program forgets it
//                   never came to open its session?           give up, unless a process was killed on the way
//                   no newer snapshot?                        go back to an older one, if allowed
//                   no newer snapshot, again and again?       give up
//                   too many restarts?                        give up
//                   hosts lost? spare ones take their place; or fewer ranks or hosts, if allowed; or give up
//                   hosts sick? spare ones that are well take their place, as long as there are some
//                   start again, and tell which nodes are lost
//
// A job that cannot start without its sick hosts, since they alone have its snapshots, is started on them again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <cairn/failure_topology.hpp>

#include "config/config.hpp"
#include "exit_code.hpp"
#include "older_versions.hpp"
#include "options.hpp"
#include "placement.hpp"
#include "session/handover.hpp"

namespace ckpt_run {

struct Life {
  Placement placement;
  cairn::FailureTopology failures;  // of the life before
  bool goes_on = false;             // an earlier life took snapshots
  bool fresh = false;               // it gives up all snapshots
  std::string version = {};         // [restart] version; empty: as the user has set it
};

struct LifeEnd {
  cairn::CompletionMark mark;
  int code = 0;                   // the launcher's; 128 + a signal's number if one ended it
  bool killed = false;            // as the code says, somebody or the kernel may have killed a rank
  bool crashed = false;           // the signal has ended the launcher itself
  bool launcher_failed = false;   // the launcher itself may have failed, as its end says
  bool had_ranks = false;         // ckpt-run has seen some; they may have ended too soon for that
  bool ended_here = false;        // ckpt-run ended the launcher, whose code says nothing then
  std::string how;                // "mpirun ended with code 137"
  bool interrupted = false;       // by the user
  bool opened = false;            // a session was opened
  std::optional<bool> snapshots;  // it has sealed or restored one; none: not known
  std::optional<bool> kept = {};  // the job has snapshots, of any life; none: not known
  std::string not_run = {};       // why the launcher cannot start the program, if no session was opened
  std::optional<cairn::Identity> restored = std::nullopt;  // the snapshot that it, or its last repair, went on from
  OlderVersions older = {};                                // than `restored`
  std::vector<std::string> lost_hosts;
  std::vector<std::string> back_hosts = {};    // of RestartLoop::away(), those that answer again
  std::vector<std::uint32_t> dead_ranks = {};  // that a head has confirmed to be dead
  std::vector<std::string> sick_hosts = {};    // from which the job is to be moved
};

// What is to be done: say `text`, then start `life`, or end with `code`.
struct Step {
  std::string text;
  std::optional<Life> life;
  int code = kGaveUp;
};

class RestartLoop {
 public:
  RestartLoop(const Options& options, const cairn::Config& config, std::vector<std::string> hosts)
      : options_(options),
        config_(config),
        hosts_(std::move(hosts)),
        spare_hosts_(options.spare_hosts),
        from_(options.from) {}

  [[nodiscard]] Step first(const std::vector<std::string>& sick_hosts = {});
  [[nodiscard]] Step after(const LifeEnd& end);
  // A life could not be started at all.
  [[nodiscard]] Step not_started(const cairn::Error& error) const;
  // Lost hosts whose places are empty, so that the job has fewer ranks. They are used again once they answer.
  [[nodiscard]] const std::vector<std::string>& away() const { return away_; }

 private:
  [[nodiscard]] Step finished(const LifeEnd& end) const;
  [[nodiscard]] std::optional<Step> never_opened(const LifeEnd& end) const;
  [[nodiscard]] Step give_up(const std::string& why) const;
  [[nodiscard]] std::optional<std::string> why_not_restart(const LifeEnd& end);
  [[nodiscard]] bool may_be_struck(const LifeEnd& end);
  [[nodiscard]] bool mends_itself() const;
  [[nodiscard]] bool forgets_finalize(const LifeEnd& end);
  [[nodiscard]] bool has_come_further(const LifeEnd& end);
  // With which the user continues.
  [[nodiscard]] std::string same_command() const;
  [[nodiscard]] std::string first_version() const;
  [[nodiscard]] std::string older_text(const LifeEnd& end) const;
  [[nodiscard]] bool step_back(const LifeEnd& end);
  [[nodiscard]] std::string version_after(const LifeEnd& end);
  [[nodiscard]] std::optional<std::string> replace(const std::vector<std::string>& lost);
  [[nodiscard]] std::optional<std::string> go_on_without(const std::vector<std::string>& lost);
  [[nodiscard]] std::vector<std::string> hosts_in_use() const;
  [[nodiscard]] cairn::Result<Placement> place_ranks() const;
  // The hosts that have left the job, for spare hosts.
  [[nodiscard]] std::vector<std::string> move_from(const std::vector<std::string>& sick);
  [[nodiscard]] std::optional<Step> move_back(const LifeEnd& end);
  [[nodiscard]] cairn::FailureTopology topology_of(const std::vector<std::string>& lost) const;

  const Options& options_;
  const cairn::Config& config_;
  std::vector<std::string> hosts_;  // in their places, those that are away included
  std::vector<std::string> away_;   // not empty only with Options::fewest, and if no spare host is left
  std::vector<std::string> spare_hosts_;
  struct Hosts {
    std::vector<std::string> hosts, spares;
  };
  std::optional<Hosts> before_move_;  // of the life under way; none: it has not been moved
  bool may_move_ = true;
  std::string from_;              // version or label that is chosen: of the user, or an older one
  bool version_is_past_ = false;  // a life has restored it, or the job has started fresh since
  Placement placement_;           // of the life under way
  std::uint32_t restarts_ = 0;
  std::uint32_t runs_without_snapshot_ = 0;  // lives in a row without progress that lost no host
  std::optional<cairn::Identity> restored_;  // the newest snapshot that a life went on from
  std::uint32_t unopened_ = 0;               // lives that opened no session, for no reason that is known
  bool goes_on_ = false;                     // a life of this job took snapshots
  bool opened_ = false;                      // a life of this job came to open its session
  bool kept_ = true;                         // the job has snapshots, as far as is known
  std::uint32_t unfinalized_ = 0;            // lives in a row that ended with code 0 and an open session
  std::optional<cairn::Cause> last_cause_;   // of a life that took no snapshot
};

}  // namespace ckpt_run
