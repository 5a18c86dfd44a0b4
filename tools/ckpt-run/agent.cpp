#include "agent.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "session/handover.hpp"

namespace ckpt_run {
namespace {

constexpr int kNoRanks = 3;  // not a code that ssh or srun ends with by itself

// Finds the /proc files of processes whose environment names the job. The environments of this shell and of grep do
// not.
std::string grep_environments(const std::string& flags, const std::string& job) {
  return fmt::format("grep -{}zxsF '{}={}' /proc/[0-9]*/environ", flags, cairn::kJobVariable, job);
}

}  // namespace

Agent choose_agent(const Options& options, const Facts& facts, const std::string& job) {
  if (!options.agent.empty()) return {options.agent, true};
  if ((!facts.batch_hosts.empty() && !facts.hosts_from_file) || facts.kind == LauncherKind::slurm)
    return {{"srun", "--job-name=" + job, "--overlap", "-N1", "-n1", "-w"}, false};
  return {{"ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5"}, true};
}

std::vector<std::string> on_host(const Agent& agent, const std::string& host, const std::string& command) {
  auto argv = agent.argv;
  argv.push_back(host);
  if (!agent.shell) argv.insert(argv.end(), {"sh", "-c"});
  argv.push_back(command);
  return argv;
}

std::string segment_key(const std::string& file_name) {
  if (!file_name.starts_with("vader_segment.") && !file_name.starts_with("sm_segment.")) return {};
  // Searches from the end, since the host may have dots.
  const auto rank = file_name.rfind('.');
  const auto job = file_name.rfind('.', rank - 1);
  if (rank == std::string::npos || job == std::string::npos) return {};
  const auto user = file_name.rfind('.', job - 1);
  if (user == std::string::npos || user + 1 == job || job + 1 == rank) return {};
  return file_name.substr(user + 1, rank - user - 1);
}

std::string answer_command() { return "true"; }

std::vector<std::string> rank_variables(LauncherKind kind) {
  std::vector<std::string> names{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
  if (kind == LauncherKind::slurm) names.emplace_back("SLURM_PROCID");
  return names;
}

std::string find_ranks_command(const std::string& job, LauncherKind kind) {
  return fmt::format("grep -qzxsE '({})=[0-9]+' $({}) /dev/null || exit {}", fmt::join(rank_variables(kind), "|"),
                     grep_environments("l", job), kNoRanks);
}

bool may_have_ranks(const std::vector<int>& codes) {
  return std::ranges::find(codes, 0) != codes.end() || std::ranges::find(codes, kNoRanks) == codes.end();
}

std::string count_ranks_command(const std::string& job, std::uint32_t count) {
  return fmt::format(
      "f=$({}); test $(grep -hzxs 'OMPI_COMM_WORLD_RANK=[0-9]*' $f /dev/null | tr '\\0' '\\n' | sort -u | wc -l) -ge "
      "{}",
      grep_environments("l", job), count);
}

std::string clean_command(const std::string& job, const SegmentKeys& keys) {
  auto command =
      fmt::format("for f in $({}); do p=${{f#/proc/}}; kill -KILL ${{p%/environ}}; done", grep_environments("l", job));
  for (const std::string& key : keys) command += fmt::format("; rm -f /dev/shm/*_segment.*.{}.*", key);
  return command + "; true";
}

}  // namespace ckpt_run
