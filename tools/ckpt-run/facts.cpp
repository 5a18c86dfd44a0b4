#include "facts.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "process.hpp"
#include "program.hpp"

namespace ckpt_run {
namespace {

using cairn::Code;
using cairn::fail;
using cairn::Result;

constexpr std::chrono::seconds kAskLimit{20};

std::uint32_t number_after(std::string_view text, std::string_view words) {
  const auto at = text.find(words);
  std::uint32_t number = 0;
  if (at != std::string_view::npos) std::from_chars(text.data() + at + words.size(), text.data() + text.size(), number);
  return number;
}

std::uint32_t usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<std::uint32_t>(std::max(1, CPU_COUNT(&set)));
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

namespace {

Result<std::vector<std::string>> slurm_hosts() {
  const char* const list = std::getenv("SLURM_JOB_NODELIST");
  if (list == nullptr) return std::vector<std::string>{};
  const auto answer = run_for_output({"scontrol", "show", "hostnames", list}, kAskLimit);
  if (!answer) return fail(answer.error());
  std::istringstream in(answer->out);
  std::vector<std::string> hosts{std::istream_iterator<std::string>(in), {}};
  if (answer->code != 0 || hosts.empty())
    return fail(Code::not_found, fmt::format("scontrol does not list the hosts of {}", list), "name them: --hosts a,b");
  return hosts;
}

// The file in which a batch system other than Slurm lists the job's hosts; none: there is no such job.
const char* host_file() {
  for (const char* name : {"PBS_NODEFILE", "LSB_DJOB_HOSTFILE", "PE_HOSTFILE"}) {
    const char* const path = std::getenv(name);
    if (path != nullptr && *path != '\0') return path;
  }
  return nullptr;
}

Result<std::vector<std::string>> hosts_of_file(const char* path) {
  std::ifstream in(path);
  auto hosts = hosts_in(in);
  if (!hosts.empty()) return hosts;
  return fail(Code::not_found, fmt::format("{} does not list the hosts of the batch job", path),
              "name them: --hosts a,b");
}

// Only the first line says which launcher this is: further down, Hydra lists other launchers that it can use.
std::optional<LauncherKind> kind_of(std::string_view version) {
  const auto line = version.substr(0, version.find('\n'));
  const auto has = [&](std::string_view words) { return line.find(words) != std::string_view::npos; };
  // By the name of a link to it, mpirun calls itself after its runtime.
  if (has("(Open MPI)") || has("(OpenRTE)") || has("(PRRTE)")) return LauncherKind::open_mpi;
  if (line.starts_with("HYDRA build details") || line.starts_with("Intel(R) MPI Library")) return LauncherKind::hydra;
  if (line.starts_with("slurm")) return LauncherKind::slurm;
  return {};
}

}  // namespace

Result<Facts> read_launcher(std::string_view version, std::string_view ompi_info) {
  Facts facts;
  const auto kind = kind_of(version);
  if (kind == LauncherKind::open_mpi) {
    facts.major = std::max(number_after(version, "(Open MPI) "), number_after(ompi_info, "ompi:version:full:"));
    const auto key = ompi_info.find("options:ft_support:");
    const auto value =
        key == std::string_view::npos ? std::string_view() : ompi_info.substr(ompi_info.find(':', key + 8) + 1);
    // Before version 5 this was another thing, checkpoints by Open MPI itself.
    facts.fault_tolerant = facts.major >= 5 && (value.starts_with("yes") || value.starts_with("\"yes"));
    return facts;
  }
  if (kind) {
    facts.kind = *kind;
    return facts;
  }
  return fail(Code::not_found,
              fmt::format("ckpt-run does not support the launcher \"{}\"", version.substr(0, version.find('\n'))),
              "use the mpirun of Open MPI, MPICH or Intel MPI, or srun");
}

bool may_be_of_a_kill(LauncherKind kind, int code) {
  return may_be_of(kind, code, SIGKILL) || may_be_of(kind, code, SIGTERM);
}

bool may_be_of(LauncherKind kind, int code, int signal) {
  return code == 128 + signal || (kind == LauncherKind::hydra && code == signal);
}

bool may_be_its_own(LauncherKind kind, int code) {
  constexpr int kHydraFailed = 255;
  return kind == LauncherKind::hydra && code == kHydraFailed;
}

std::vector<std::string> hosts_in(std::istream& file) {
  std::vector<std::string> hosts;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string host;
    if (words >> host && std::ranges::find(hosts, host) == hosts.end()) hosts.push_back(host);
  }
  return hosts;
}

std::string beside(const std::string& launcher, const std::string& program) {
  return (std::filesystem::path(launcher).parent_path() / program).string();
}

bool is_this_host(const Facts& facts, std::string_view host) {
  return same_host(host, facts.host) || host == "localhost";
}

std::string name_of_this_host(const Facts& facts) {
  return facts.kind == LauncherKind::slurm ? facts.host.substr(0, facts.host.find('.')) : facts.host;
}

Result<Facts> learn_facts(const Options& options) {
  const auto version = run_for_output({options.launcher, "--version"}, kAskLimit);
  if (!version) return fail(version.error());
  std::string ompi_info;
  if (kind_of(version->out) == LauncherKind::open_mpi) {
    const auto answer = run_for_output({beside(options.launcher, "ompi_info"), "--parsable"}, kAskLimit);
    if (answer) ompi_info = answer->out;
  }
  auto facts = read_launcher(version->out, ompi_info);
  if (!facts) return fail(facts.error().in(options.launcher));
  facts->processors = usable_processors();
  facts->host = host_name();
  facts->preload = preload_of(options);
  if (options.hosts.empty()) {
    const char* const file = host_file();
    auto hosts = file != nullptr ? hosts_of_file(file) : slurm_hosts();
    if (!hosts) return fail(hosts.error());
    facts->hosts_from_file = file != nullptr;
    facts->batch_hosts = std::move(*hosts);
  }
  return facts;
}

}  // namespace ckpt_run
