#include "supervisor.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "launcher_end.hpp"
#include "process.hpp"
#include "program.hpp"

namespace ckpt_run {
namespace {

using cairn::fail;
using cairn::Result;
using Clock = std::chrono::steady_clock;
using Kind = cairn::CompletionMark::Kind;

constexpr std::chrono::milliseconds kTick{100};
constexpr std::chrono::seconds kLook{2};                // between looks at the mark and the ranks
constexpr std::chrono::seconds kYouth{20};              // of a life: looks are more frequent, until segments are known
constexpr std::chrono::seconds kLongestStartOfFew{20};  // for a launcher to notice that a rank died while it started
constexpr std::chrono::seconds kSweepLimit{10};         // for what was killed to be gone

// CAIRN_… variables of this process, which override the configuration in every rank.
std::map<std::string, std::string> cairn_variables() {
  std::map<std::string, std::string> found;
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (text.starts_with("CAIRN_") && equals != std::string_view::npos)
      found.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return found;
}

constexpr const char* kOpenMpiRank = "OMPI_COMM_WORLD_RANK";

// A rank, and not a launcher's daemon, which may have the same environment.
bool is_rank(pid_t pid, LauncherKind kind) {
  return std::ranges::any_of(rank_variables(kind),
                             [&](const std::string& name) { return variable_of(pid, name).has_value(); });
}

// Keys of the segments that a process has mapped, or, with Open MPI 4, will map.
SegmentKeys keys_of(pid_t pid) {
  SegmentKeys keys;
  if (const auto job = variable_of(pid, "OMPI_MCA_ess_base_jobid")) {
    std::uint32_t number = 0;
    std::from_chars(job->data(), job->data() + job->size(), number);
    if (number != 0) keys.insert(fmt::format("{}.{:x}", ::geteuid(), number));
  }
  constexpr std::string_view kMemory = "/dev/shm/";
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(maps, line);) {
    const auto at = line.find(kMemory);
    if (at == std::string::npos) continue;
    if (auto key = segment_key(line.substr(at + kMemory.size())); !key.empty()) keys.insert(std::move(key));
  }
  return keys;
}

void remove_segments(const SegmentKeys& keys) {
  std::error_code error;
  for (std::filesystem::directory_iterator it("/dev/shm", error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    if (keys.contains(segment_key(it->path().filename().string()))) std::filesystem::remove(it->path(), gone);
  }
}

bool has_open_session(const cairn::Marks& marks) {
  return std::ranges::any_of(marks.sessions, [](const auto& session) {
    return session.second.kind == Kind::opened && session.second.run.value != 0;
  });
}

std::optional<int> user_signal(Signals::Event event) {
  switch (event) {
    case Signals::Event::user1: return SIGUSR1;
    case Signals::Event::user2: return SIGUSR2;
    default: return {};
  }
}

void signal_all(const std::vector<pid_t>& pids, int number) {
  for (const pid_t pid : pids) (void)::kill(pid, number);
}

}  // namespace

struct Supervisor::Watch {
  Clock::time_point start = Clock::now();
  Clock::time_point next_look = Clock::now();
  Clock::time_point next_question = Clock::now();
  bool had_ranks = false;
  bool ranks_elsewhere = false;  // as the other hosts have said last
  std::optional<Clock::time_point> finished_at;
  std::optional<Clock::time_point> alone_since;  // no rank is left since then
  std::optional<Clock::time_point> short_since;  // fewer ranks than are to be started, and no session
  Clock::time_point next_count;                  // of ranks elsewhere, which need some time to be there
  bool was_open = false;                         // a session
  bool stop_is_due = false;                      // the ranks have not been told yet
  bool all_elsewhere = true;                     // ranks of other hosts are there, as far as was asked
};

Supervisor::Supervisor(const Options& options, const cairn::Config& config, const Facts& facts, bool mends_itself,
                       JobFiles& files, Signals& signals, std::string name, const Patience& patience)
    : options_(options),
      config_(config),
      facts_(facts),
      mends_itself_(mends_itself),
      files_(files),
      signals_(signals),
      name_(std::move(name)),
      patience_(patience),
      agent_(choose_agent(options, facts, name_)) {}

Result<pid_t> Supervisor::launch(const Life& life) {
  if (auto status = files_.clear_marks(); !status) return fail(status.error());
  auto environment = cairn_variables();
  environment[cairn::kJobVariable] = name_;
  environment[cairn::kMarkVariable] = files_.mark_path();
  environment[cairn::kDeadRanksVariable] = cairn::numbers_text(life.failures.dead_ranks);
  environment[cairn::kLostNodesVariable] = cairn::numbers_text(life.failures.lost_nodes);
  environment[cairn::kStartedVariable] =
      cairn::started_text({life.placement.application, life.placement.heads, life.placement.nodes});
  environment.merge(cairn::world_variables(world_of(config_, life.placement)));
  environment[cairn::kStopSignalVariable] = cairn::stop_signal_text(config_.restart.stop_signal);
  environment[cairn::kProcessVariable] = {};
  const char* const rehearsal = std::getenv(cairn::kRehearsalVariable);
  environment[cairn::kRehearsalVariable] = rehearsal == nullptr ? "" : rehearsal;
  environment.emplace(cairn::kGoesOnVariable, life.goes_on ? "1" : "");
  if (life.fresh) environment["CAIRN_RESTART_MODE"] = "fresh";
  if (!life.version.empty()) environment["CAIRN_RESTART_VERSION"] = life.version;
  environment[cairn::kEndedVariable] = fmt::format("{}", fmt::join(ended_, ","));
  if (mends_itself_) environment["CAIRN_RECOVERY_SPARES"] = std::to_string(life.placement.spares);
  auto command = launch_command(options_, config_, facts_, life.placement, environment);
  if (!command.host_list.empty()) {
    auto path = files_.write_hosts(command.host_list);
    if (!path) return fail(path.error());
    command.environment["SLURM_HOSTFILE"] = *path;
  }
  return start(command.argv, {.environment = command.environment, .input = true});
}

Result<LifeEnd> Supervisor::run(const Life& life) {
  placement_ = life.placement;
  segments_.clear();
  const auto before = files_.records();
  const auto launcher = launch(life);
  if (!launcher) return fail(launcher.error());
  LifeEnd result = watch(*launcher);
  settle_stop(result);
  sweep(*launcher);
  account_for(result, before);
  if (!remote_hosts().empty()) give_back_allocations();  // of questions without an answer
  return result;
}

// Finds out how a life ended.
void Supervisor::account_for(LifeEnd& result, const Result<std::vector<cairn::RunRecord>>& before) {
  result.how = how_it_ended(options_.launcher, result, facts_.kind);
  result.killed = may_be_of_a_kill(facts_.kind, result.code);
  result.launcher_failed = result.crashed || may_be_its_own(facts_.kind, result.code);
  result.interrupted = signals_.interrupted();
  // A life that repairs itself has several sessions, and so several records. What was there before says nothing of it:
  // a job that an earlier ckpt-run saw to its end starts afresh.
  auto records = files_.records();
  const bool has_kept = records && std::ranges::any_of(*records, &cairn::RunRecord::snapshots);
  if (before && records) {
    std::erase_if(*records, [&](const cairn::RunRecord& record) {
      return !before->empty() && record.incarnation <= before->front().incarnation;
    });
  }
  const bool known = before && records;
  const auto marks = known ? files_.marks_and(*records) : files_.marks();
  for (const auto& [path, mark] : marks.sessions) {
    if (mark.kind == Kind::finished) ended_.insert(cairn::session_of_mark(path));
  }
  result.mark = cairn::summary_of(marks);
  // Records of other jobs, which the program may have, are not read.
  const std::string own = cairn::session_name(config_);
  const bool has_others = std::ranges::any_of(
      marks.sessions, [&](const auto& session) { return cairn::session_of_mark(session.first) != own; });
  if (has_kept || (records && !has_others)) result.kept = has_kept;
  if (result.mark.kind == Kind::finished || result.interrupted) return;
  result.opened = result.mark.kind != Kind::none;
  if (!result.opened && result.code != 0 && !result.ended_here) note_program(result);
  if (known) {
    result.snapshots = std::ranges::any_of(*records, &cairn::RunRecord::snapshots);
    const auto restored = std::ranges::find(*records, cairn::RunRecord::Parent::snapshot, &cairn::RunRecord::parent);
    if (restored != records->end()) result.restored = restored->parent_snapshot;
  }
  result.lost_hosts = hosts_without_answer();
  result.interrupted = signals_.interrupted();
}

// Finds out whether the launcher cannot start the program. What other hosts have is not known here.
void Supervisor::note_program(LifeEnd& result) const {
  if (std::ranges::none_of(placement_.hosts, [&](const HostRanks& host) { return is_here(host.host); })) return;
  result.not_run = why_not_run(options_).value_or(std::string());
  result.how = how_it_ended(options_.launcher, result, facts_.kind);
}

// Watches until the launcher has ended, by itself or not.
LifeEnd Supervisor::watch(pid_t launcher) {
  LifeEnd result;
  Watch watch;
  watch.stop_is_due = stops_;
  watch.next_count = watch.start + patience_.question;
  while (true) {
    const auto event = signals_.wait(kTick);
    if (is_stop(event)) stops_ = watch.stop_is_due = true;
    if (const auto end = reap_child(launcher)) {
      result.code = end->code;
      result.crashed = end->by_signal;
      result.had_ranks = watch.had_ranks;
      return result;
    }
    result.ended_here = event == Signals::Event::interrupt;
    // The other signal is the application's, which gets it at once, and once.
    if (const auto number = user_signal(event); number && !is_stop(event)) (void)::kill(launcher, *number);
    if (watch.stop_is_due) pass_stop_signal(launcher, watch);
    const auto now = Clock::now();
    if (!result.ended_here && now < watch.next_look) continue;
    learn_segments();
    // Looks often while segments are not known yet: a job that dies early would leave them behind.
    watch.next_look =
        now + (segments_.empty() && now - watch.start < kYouth ? std::chrono::milliseconds(kTick) : kLook);
    result.ended_here |= over_in_vain(watch);
    if (!result.ended_here) continue;
    result.code = end(launcher);
    return result;
  }
}

bool Supervisor::is_stop(Signals::Event event) const {
  const auto number = user_signal(event);
  return number && number == config_.restart.stop_signal;
}

// Launchers send it to all ranks. Where MPI calls are not intercepted, it would kill ranks that have no session yet.
void Supervisor::pass_stop_signal(pid_t launcher, Watch& watch) {
  if (!watch.was_open) watch.was_open = has_open_session(files_.marks());
  if (!watch.was_open) return;
  (void)::kill(launcher, *config_.restart.stop_signal);
  watch.stop_is_due = false;
}

// A process that does not handle the signal is killed by it. It may have been on its way to its session, so the next
// life is asked to stop, too. The second time in a row, each life would end so, and none would come further.
void Supervisor::settle_stop(const LifeEnd& life) {
  const auto& signal = config_.restart.stop_signal;
  if (!signal || !stops_) return;
  ended_by_stop_ = may_be_of(facts_.kind, life.code, *signal) ? ended_by_stop_ + 1 : 0;
  if (ended_by_stop_ < 2) return;
  ended_by_stop_ = 0;
  stops_ = false;
  fmt::print(stderr,
             "ckpt-run: {} has ended two runs, since a process without a session does not handle it: the job is not "
             "asked to stop any more. Link cairn-tap before MPI, as pkg-config --libs cairn does\n",
             cairn::stop_signal_text(signal));
}

// Whether the launcher will not end by itself, or takes too long for it. mpirun of Open MPI 4 hangs without ranks when
// one was killed while it started. With Open MPI 5, mpirun may not end, or ranks may not leave MPI_Finalize, after
// failures that were repaired.
bool Supervisor::over_in_vain(Watch& watch) {
  const auto now = Clock::now();
  const auto marks = files_.marks();
  watch.was_open |= has_open_session(marks);
  const auto kind = cairn::summary_of(marks).kind;
  if (kind != Kind::finished && kind != Kind::stopped)
    watch.finished_at.reset();
  else if (!watch.finished_at)
    watch.finished_at = now;
  // The ranks wait for this.
  if (options_.last_call && kind == Kind::stopped) return true;
  if (mends_itself_ && watch.finished_at && now - *watch.finished_at > options_.linger) return true;

  if (ranks_are_left(watch)) {
    watch.alone_since.reset();
    return mends_itself_ && kind == Kind::none && lacks_ranks(watch);
  }
  if (!watch.had_ranks) return now - watch.start > options_.start_limit;
  if (!watch.alone_since) watch.alone_since = now;
  return now - *watch.alone_since > patience_.last_breath;
}

// Where the job repairs itself, the death of a rank does not end the launcher. If that happens before a session is
// opened, the rank cannot be replaced, and the others wait for it in MPI_Init for ever.
bool Supervisor::lacks_ranks(Watch& watch) {
  const auto now = Clock::now();
  std::set<std::string> here;
  for (const pid_t pid : descendants()) {
    if (auto rank = variable_of(pid, kOpenMpiRank)) here.insert(std::move(*rank));
  }
  std::uint32_t expected = placement_.world();
  std::vector<std::vector<std::string>> questions;
  for (const HostRanks& host : placement_.hosts) {
    if (is_here(host.host)) continue;
    expected -= host.ranks;
    questions.push_back(on_host(agent_, host.host, count_ranks_command(name_, host.ranks)));
  }
  if (!questions.empty() && now >= watch.next_count) {
    watch.next_count = now + patience_.question;
    const auto codes = run_all(questions, options_.agent_limit, [this] { return signals_.interrupted(); });
    watch.all_elsewhere = std::ranges::all_of(codes, [](int code) { return code == 0; });
  }
  if (here.size() >= expected && watch.all_elsewhere) {
    watch.short_since.reset();
    return false;
  }
  if (!watch.short_since) watch.short_since = now;
  if (now - *watch.short_since < kLongestStartOfFew) return false;
  fmt::print(stderr,
             "ckpt-run: some ranks have not started, and the job has not opened its session: ckpt-run ends the job. "
             "Look for the cause in the lines above\n");
  return true;
}

bool Supervisor::is_here(const std::string& host) const { return is_this_host(facts_, host); }

bool Supervisor::ranks_are_left(Watch& watch) {
  bool found = !ranks_here().empty();
  const auto hosts = remote_hosts();
  if (!found && !hosts.empty()) {
    if (Clock::now() >= watch.next_question) {
      watch.next_question = Clock::now() + patience_.question;
      watch.ranks_elsewhere = may_have_ranks(ask_hosts(hosts, find_ranks_command(name_, facts_.kind)));
    }
    found = watch.ranks_elsewhere;
  }
  watch.had_ranks |= found;
  return found;
}

// The launcher's own processes are below ckpt-run too. Ranks may also have been started by a daemon of the batch
// system, as Slurm's tasks are.
std::vector<pid_t> Supervisor::ranks_here() const {
  std::vector<pid_t> ranks;
  const auto ours = descendants();
  std::ranges::copy_if(ours, std::back_inserter(ranks), [](pid_t pid) { return is_rank(pid, LauncherKind::open_mpi); });
  std::ranges::copy_if(started_by_others(), std::back_inserter(ranks),
                       [&](pid_t pid) { return is_rank(pid, facts_.kind); });
  return ranks;
}

// Processes of the job on this host that are not below ckpt-run.
std::vector<pid_t> Supervisor::started_by_others() const {
  const auto ours = descendants();
  auto pids = processes_with(cairn::kJobVariable, name_);
  std::erase_if(pids, [&](pid_t pid) { return std::ranges::find(ours, pid) != ours.end(); });
  return pids;
}

// Ends the launcher, with all that it has started here, and says how it ended. A second interrupt ends the wait.
int Supervisor::end(pid_t launcher) {
  (void)::kill(launcher, SIGTERM);
  const auto deadline = Clock::now() + options_.grace;
  while (Clock::now() < deadline) {
    const auto event = signals_.wait(kTick);
    if (is_stop(event)) stops_ = true;
    if (const auto code = reap(launcher)) return *code;
    if (event == Signals::Event::interrupt) break;
  }
  learn_segments();
  signal_all(descendants(), SIGKILL);
  const auto gone_by = Clock::now() + kSweepLimit;
  while (Clock::now() < gone_by) {
    if (const auto code = reap(launcher)) return *code;
    std::this_thread::sleep_for(kTick);
  }
  return kOfSignals + SIGKILL;
}

// What a life leaves behind must not disturb the next: ranks that hold stores, and shared memory.
void Supervisor::sweep(pid_t launcher) {
  give_back_allocations();
  const auto deadline = Clock::now() + kSweepLimit;
  const auto all_left = [&] {
    auto left = descendants();
    std::ranges::copy(started_by_others(), std::back_inserter(left));
    return left;
  };
  auto left = all_left();
  while (!left.empty() && Clock::now() < deadline) {
    for (const pid_t pid : left) segments_.merge(keys_of(pid));
    signal_all(left, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    for (const pid_t pid : left) (void)reap(pid);
    left = all_left();
  }
  remove_segments(segments_);
  // After an interrupt as well: what is left there would disturb the next job. Another interrupt ends this, too.
  signals_.take_pending();
  (void)run_all(on_hosts(remote_hosts(), clean_command(name_, segments_)), options_.agent_limit,
                [this] { return signals_.is_pending(); });
  // Open MPI 4 clears its session directory itself, unless it was killed.
  const char* const temporary = std::getenv("TMPDIR");
  std::error_code ignored;
  std::filesystem::remove_all(fmt::format("{}/ompi.{}.{}/pid.{}", temporary == nullptr ? "/tmp" : temporary,
                                          facts_.host, ::geteuid(), launcher),
                              ignored);
}

// An srun that was killed has left its allocation behind, and the next one would wait for it for ever.
void Supervisor::give_back_allocations() {
  if (facts_.kind == LauncherKind::slurm)
    (void)run_all({cancel_command(options_, name_)}, kSweepLimit, [] { return false; });
}

void Supervisor::learn_segments() {
  for (const pid_t pid : ranks_here()) segments_.merge(keys_of(pid));
}

std::vector<std::string> Supervisor::remote_hosts() const {
  std::vector<std::string> hosts;
  for (const HostRanks& host : placement_.hosts) {
    if (!is_here(host.host)) hosts.push_back(host.host);
  }
  return hosts;
}

// If none of several other hosts answers, the agent is probably wrong, and no host counts as lost.
std::vector<std::string> Supervisor::hosts_without_answer() {
  const auto hosts = remote_hosts();
  const auto codes = ask_hosts(hosts, answer_command());
  std::vector<std::string> lost;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (codes[i] != 0) lost.push_back(hosts[i]);
  }
  if (signals_.interrupted()) return {};
  if (lost.size() == hosts.size() && hosts.size() > 1) {
    fmt::print(stderr,
               "ckpt-run: no host answers to `{} {} {}`; ckpt-run continues with all hosts. Check that this command "
               "needs no password, or set --agent\n",
               fmt::join(agent_.argv, " "), hosts[0], answer_command());
    return {};
  }
  return lost;
}

std::vector<int> Supervisor::ask_hosts(const std::vector<std::string>& hosts, const std::string& command) {
  return run_all(on_hosts(hosts, command), options_.agent_limit, [this] { return signals_.interrupted(); });
}

std::vector<std::vector<std::string>> Supervisor::on_hosts(const std::vector<std::string>& hosts,
                                                           const std::string& command) const {
  std::vector<std::vector<std::string>> commands;
  for (const std::string& host : hosts) commands.push_back(on_host(agent_, host, command));
  return commands;
}

}  // namespace ckpt_run
