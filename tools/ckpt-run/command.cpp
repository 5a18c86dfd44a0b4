#include "command.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "session/handover.hpp"

namespace ckpt_run {
namespace {

using cairn::Config;
using Words = std::vector<std::string>;

void append(Words& to, const Words& words) { to.insert(to.end(), words.begin(), words.end()); }

// Options that the user has given are not changed.
bool says(const Options& options, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(options.mpi_options, [&](const std::string& word) {
    return std::ranges::find(names, std::string_view(word)) != names.end();
  });
}

// Without a list of hosts the launcher takes this one.
bool names_hosts(const Options& options, const Facts& facts) {
  return !options.hosts.empty() || !facts.batch_hosts.empty();
}

// "a:3,b:3"
std::string hosts_with_ranks(const Placement& placement) {
  Words hosts;
  for (const HostRanks& host : placement.hosts) hosts.push_back(fmt::format("{}:{}", host.host, host.ranks));
  return fmt::format("{}", fmt::join(hosts, ","));
}

// What ULFM in Open MPI 5.0 needs to go on after a failure: collectives that stay right and an MPI_Finalize that
// returns; spawned ranks, and ranks on other hosts, need TCP.
Words ulfm_options(const Options& options, const Config& config, const Placement& placement) {
  const bool one_host = placement.hosts.size() == 1;
  Words words{"--with-ft",
              "ulfm",
              "--mca",
              "coll",
              "self,basic,tuned,libnbc,inter,ftagree",
              "--mca",
              "async_mpi_finalize",
              "1",
              "--prtemca",
              "state_base_recoverable",
              "1"};
  // When the sender of a long message dies, survivors crash or spin inside MPI, unless TCP only sends and never puts.
  if (!says(options, {"btl_tcp_flags"})) append(words, {"--mca", "btl_tcp_flags", "9"});
  const bool spawns = config.recovery.mode == Config::Recovery::Mode::respawn ||
                      config.recovery.when_spent == Config::Recovery::WhenSpent::respawn;
  // With it, MPI_File_open blocks on a communicator of ranks that were started at different times.
  if (spawns && !says(options, {"sharedfp"})) append(words, {"--mca", "sharedfp", "^sm"});
  if (says(options, {"btl"})) return words;
  const bool tcp = !one_host || spawns;
  append(words, {"--mca", "btl", tcp ? "self,sm,tcp" : "self,sm"});
  if (one_host && tcp) append(words, {"--mca", "btl_tcp_if_include", "lo"});
  return words;
}

// A host that has lost its network link no longer answers, and the launcher waits for its ranks. With these settings it
// asks its daemons, and ends the job 20 s after the last answer. By default it would wait for 8 minutes.
Words watch_daemons(const Facts& facts) {
  Words words;
  const auto set = [&](const char* name, const char* value) {
    append(words, {facts.major >= 5 ? "--prtemca" : "--mca", name, value});
  };
  set("oob_tcp_keepalive_time", "10");
  set("oob_tcp_keepalive_intvl", "2");
  set("oob_tcp_keepalive_probes", "5");
  return words;
}

Words open_mpi_options(const Options& options, const Config& config, const Facts& facts, const Placement& placement,
                       bool mends) {
  Words words;
  const std::uint32_t most = placement.most_on_a_host();
  const bool crowded = most > facts.processors;
  // Heads and spares may come on top of what a batch system has counted, hence the modifier. By slot, since nodes are
  // runs of ranks.
  if (!says(options, {"--map-by", "-map-by"})) append(words, {"--map-by", "slot:OVERSUBSCRIBE"});
  // A rank that is bound to one core would share it with its node's head, or with that head's helper threads. Open MPI
  // binds the ranks of a job to cores if there are at most two, and to larger parts if there are more.
  const bool unbound = crowded || !has_dedicated_heads(config) || placement.world() <= 2;
  if (unbound && !says(options, {"--bind-to", "-bind-to"})) append(words, {"--bind-to", "none"});
  // Ranks that wait leave the processor to those that work.
  if (crowded) append(words, {"--mca", "mpi_yield_when_idle", "1"});
  if (mends) append(words, ulfm_options(options, config, placement));
  if (names_hosts(options, facts)) append(words, {"--host", hosts_with_ranks(placement)});
  if (placement.hosts.size() > 1) append(words, watch_daemons(facts));
  if (!options.agent.empty()) {
    const std::string agent = fmt::format("{}", fmt::join(options.agent, " "));
    append(words,
           facts.major >= 5 ? Words{"--prtemca", "plm_ssh_agent", agent} : Words{"--mca", "plm_rsh_agent", agent});
  }
  return words;
}

}  // namespace

cairn::Result<bool> mends_itself(const Config& config, const Facts& facts) {
  using Mode = Config::Recovery::Mode;
  if (config.recovery.mode == Mode::restart) return false;
  const char* const mode = config.recovery.mode == Mode::spares ? "spares" : "respawn";
  if (facts.kind != LauncherKind::open_mpi || facts.major < 5 || !facts.fault_tolerant) {
    return cairn::fail(cairn::Code::config,
                       fmt::format("[recovery] mode = {} needs Open MPI 5 or newer with fault tolerance (ULFM)", mode),
                       "set mode = restart, which works with every MPI");
  }
  return true;
}

Command launch_command(const Options& options, const Config& config, const Facts& facts, const Placement& placement,
                       const std::map<std::string, std::string>& environment) {
  Command command;
  command.environment = environment;
  command.argv = {options.launcher, "-n", std::to_string(placement.world())};
  switch (facts.kind) {
    case LauncherKind::open_mpi:
      append(command.argv,
             open_mpi_options(options, config, facts, placement, mends_itself(config, facts).value_or(false)));
      for (const auto& [name, value] : environment) append(command.argv, {"-x", name});
      break;
    case LauncherKind::hydra:
      if (names_hosts(options, facts)) append(command.argv, {"-hosts", hosts_with_ranks(placement)});
      // Called as rsh: for ssh the launcher would add options of its own.
      if (!options.agent.empty()) {
        append(command.argv, {"-launcher", "rsh", "-launcher-exec", options.agent.front()});
        if (options.agent.size() > 1) {
          command.environment["HYDRA_LAUNCHER_EXTRA_ARGS"] =
              fmt::format("{}", fmt::join(options.agent.begin() + 1, options.agent.end(), " "));
        }
      }
      break;
    case LauncherKind::slurm:
      append(command.argv, {"--kill-on-bad-exit=1", "--overcommit", "--distribution=arbitrary", "--input=0"});
      for (const HostRanks& host : placement.hosts) {
        for (std::uint32_t i = 0; i < host.ranks; ++i) command.host_list += host.host + "\n";
      }
      break;
  }
  append(command.argv, options.mpi_options);
  // Allocations that srun has left are found by this name. The last option counts, so the user cannot change it.
  const auto job = environment.find(cairn::kJobVariable);
  if (facts.kind == LauncherKind::slurm && job != environment.end())
    append(command.argv, {"--job-name=" + job->second});
  // In the ranks alone: the launcher itself must not get it.
  if (config.job.tap && !facts.preload.empty()) append(command.argv, {"env", "LD_PRELOAD=" + facts.preload});
  append(command.argv, options.application);
  return command;
}

std::vector<std::string> cancel_command(const Options& options, const std::string& job) {
  return {beside(options.launcher, "scancel"), "--quiet", "--me", "--name=" + job};
}

}  // namespace ckpt_run
