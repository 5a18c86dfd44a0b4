// Runs one life of the job: starts the launcher, watches it to its end, ends it when it is asked to or when it does not
// end by itself, and removes what is left of it on every host: processes, and Open MPI's shared memory.
//
// One thread; a child of ckpt-run that is not one of a Supervisor must not be waited for meanwhile.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent.hpp"
#include "command.hpp"
#include "job_files.hpp"
#include "restart_loop.hpp"
#include "signals.hpp"

namespace ckpt_run {

struct Patience {
  std::chrono::milliseconds question{60'000};    // between questions to other hosts whether they have ranks
  std::chrono::milliseconds last_breath{5'000};  // of a launcher without ranks
};

class Supervisor {
 public:
  // `name`: of this run of ckpt-run, unlike any other's. What is referred to must outlive it.
  Supervisor(const Options& options, const cairn::Config& config, const Facts& facts, bool mends_itself,
             JobFiles& files, Signals& signals, std::string name, const Patience& patience = {});

  // An error when the launcher cannot be started at all.
  [[nodiscard]] cairn::Result<LifeEnd> run(const Life& life);

 private:
  struct Watch;  // of a launcher under way
  [[nodiscard]] cairn::Result<pid_t> launch(const Life& life);
  [[nodiscard]] LifeEnd watch(pid_t launcher);
  [[nodiscard]] bool is_stop(Signals::Event event) const;
  void pass_stop_signal(pid_t launcher, Watch& watch);
  void settle_stop(const LifeEnd& life);
  [[nodiscard]] bool over_in_vain(Watch& watch);
  [[nodiscard]] bool ranks_are_left(Watch& watch);
  [[nodiscard]] std::vector<pid_t> ranks_here() const;
  [[nodiscard]] std::vector<pid_t> started_by_others() const;
  [[nodiscard]] bool lacks_ranks(Watch& watch);
  [[nodiscard]] bool is_here(const std::string& host) const;
  [[nodiscard]] int end(pid_t launcher);
  void account_for(LifeEnd& life, const cairn::Result<std::vector<cairn::RunRecord>>& before);
  void note_program(LifeEnd& life) const;
  void sweep(pid_t launcher);
  void give_back_allocations();
  void learn_segments();
  [[nodiscard]] std::vector<std::string> remote_hosts() const;
  [[nodiscard]] std::vector<std::string> hosts_without_answer();
  [[nodiscard]] std::vector<int> ask_hosts(const std::vector<std::string>& hosts, const std::string& command);
  [[nodiscard]] std::vector<std::vector<std::string>> on_hosts(const std::vector<std::string>& hosts,
                                                               const std::string& command) const;

  const Options& options_;
  const cairn::Config& config_;
  const Facts& facts_;
  bool mends_itself_;
  JobFiles& files_;
  Signals& signals_;
  std::string name_;
  Patience patience_;
  Agent agent_;
  Placement placement_;  // of the life under way
  SegmentKeys segments_;
  std::set<std::string> ended_;  // names of sessions that have finished, in any life
  bool stops_ = false;           // the job is to stop, in this life or a later one
  int ended_by_stop_ = 0;        // lives that the stop signal has ended, though it was to stop them
};

}  // namespace ckpt_run
