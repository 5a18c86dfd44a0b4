#include "options.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string_view>

#include <CLI/CLI.hpp>
#include <cairn/version.hpp>

#include <fmt/format.h>

#include "base/label.hpp"
#include "config/config_values.hpp"
#include "exit_code.hpp"

namespace ckpt_run {
namespace {

constexpr const char* kAbout =
    "Starts an MPI application that uses Cairn. After a failure, starts it again without the hosts that were lost,\n"
    "until it has finished.\n"
    "Exit codes:\n"
    "  0      the application has finished, or has stopped after SIGUSR1; or it does not use Cairn, and ended with 0\n"
    "  1      ckpt-run gave up, or a rehearsal has ended with another result\n"
    "  2      the arguments or the configuration are wrong, or the application could not be started at all\n"
    "  130    SIGINT, SIGTERM or SIGHUP ended the job\n"
    "  other  the application has finished, and the launcher then ended with this code: 137 if a process was killed\n"
    "         after finalize. Only with [recovery] mode = restart\n";

constexpr const char* kExamples =
    "The global store must be visible on the host that runs ckpt-run. SIGINT and SIGTERM end the whole job. SIGUSR1\n"
    "is passed to the ranks, which take a last snapshot; with [restart] stop_signal = SIGUSR2, that signal is. The\n"
    "other one of them is passed to the application.\n"
    "Examples:\n"
    "  ckpt-run -n 8 -- heat --size 768 --steps 20000 --config heat.ini --output plate.bin\n"
    "  ckpt-run -n 96 --hosts a,b,c --spare-hosts d -- ./simulate --config simulate.ini\n"
    "  ckpt-run -n 8 --rehearse --config heat.ini -- ./simulate --steps 100\n"
    "  ckpt-run -n 8 --mpi-options \"--mca btl self,tcp\" --config heat.ini -- ./simulate";

// Options of a rehearsal that have a value.
constexpr std::string_view kValuesOfRehearsal[] = {"--kills", "--calls", "--tolerance", "--seed", "--json"};

// CLI11 does not know what follows the options.
class Form final : public CLI::Formatter {
  std::string make_usage(const CLI::App* /*app*/, std::string /*name*/) const override {
    return "Usage: ckpt-run -n N [OPTIONS] -- APPLICATION [ARGUMENTS]\n";
  }
};

// Splits words as a shell does, but without quotes, which no launcher's option needs.
std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

std::string check_time(std::string& text) {
  std::chrono::milliseconds time{};
  return cairn::values::duration(text, time);
}

// "8", or "4:8" for fewest and most.
struct Ranks {
  std::uint32_t fewest = 0;
  std::uint32_t most = 0;
};

std::optional<std::uint32_t> number_of_ranks(std::string_view text) {
  constexpr std::uint32_t kMost = 1U << 24U;
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1 || number > kMost) return {};
  return number;
}

std::optional<Ranks> ranks_of(std::string_view text) {
  const auto colon = text.find(':');
  const auto fewest = number_of_ranks(text.substr(0, colon));
  const auto most = colon == std::string_view::npos ? fewest : number_of_ranks(text.substr(colon + 1));
  if (!fewest || !most || *fewest > *most) return {};
  return Ranks{*fewest, *most};
}

std::string check_ranks(std::string& text) {
  return ranks_of(text) ? "" : "\"" + text + "\" is neither a number from 1 to 16777216 nor MIN:MAX";
}

std::string check_tolerance(std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && number >= 0 && number <= 1 ? "" : "\"" + text + "\" is not a number from 0 to 1";
}

std::string check_from(std::string& text) {
  constexpr std::uint32_t kHighest = 4'000'000'000;
  std::uint32_t number = 0;
  const bool good = cairn::values::number(text, 1, kHighest, number).empty() || cairn::check_label(text);
  return good ? "" : "\"" + text + "\" is neither a version nor a label";
}

std::chrono::milliseconds time_of(const std::string& text) {
  std::chrono::milliseconds time{};
  (void)cairn::values::duration(text, time);
  return time;
}

// Ranks are placed by ckpt-run, so that nodes and heads are where it says: it has to know the hosts.
std::string host_option_among(const std::vector<std::string>& mpi_options) {
  const std::set<std::string> names{
      "--hostfile", "-hostfile",  "--machinefile", "-machinefile",      "--host", "-host", "-H",
      "-hosts",     "--nodelist", "--nodefile",    "--default-hostfile"};
  for (const std::string& word : mpi_options) {
    if (names.contains(word.substr(0, word.find('=')))) return word;
  }
  return {};
}

// What is wrong though every option is well-formed; empty: nothing.
std::string mistake_in(const Options& options) {
  if (options.application.empty()) return "no application: ckpt-run -n 8 -- app arguments";
  if (options.application[0].starts_with('-')) return options.application[0] + ": no such option";
  if (options.rehearsal && !options.from.empty())
    return "--from is not for a rehearsal, whose runs start from the beginning: leave it out";
  if (!options.spare_hosts.empty() && options.hosts.empty())
    return "--spare-hosts also needs --hosts, the hosts that they replace";
  if (const auto word = host_option_among(options.mpi_options); !word.empty())
    return "--mpi-options \"" + word + " …\": ckpt-run places the ranks itself; give it the hosts with --hosts a,b";
  std::set<std::string> names;
  for (const auto* list : {&options.hosts, &options.spare_hosts}) {
    for (const std::string& host : *list) {
      if (host.empty() || host.find(':') != std::string::npos) return "\"" + host + "\" is not the name of a host";
      if (!names.insert(host).second) return "host " + host + " is named twice";
    }
  }
  return {};
}

}  // namespace

std::string config_among(const std::vector<std::string>& application) {
  std::set<std::string> found;
  for (std::size_t i = 1; i < application.size(); ++i) {
    const std::string& argument = application[i];
    const bool is_option = argument.starts_with('-');
    const auto equals = is_option ? argument.find('=') : std::string::npos;
    const auto value = equals == std::string::npos ? argument : argument.substr(equals + 1);
    if (value.ends_with(".ini") && (!is_option || equals != std::string::npos)) found.insert(value);
  }
  return found.size() == 1 ? *found.begin() : std::string();
}

std::vector<std::string> without_rehearsal(int argc, const char* const* argv) {
  const std::vector<std::string> all(argv + 1, argv + argc);
  const auto split = std::ranges::find(all, "--");
  std::vector<std::string> kept;
  for (auto at = all.begin(); at < split; ++at) {
    const auto name = at->substr(0, at->find('='));
    const bool has_value = std::ranges::find(kValuesOfRehearsal, name) != std::end(kValuesOfRehearsal);
    if (has_value && *at == name && at + 1 < split) ++at;
    if (!has_value && name != "--rehearse") kept.push_back(*at);
  }
  kept.insert(kept.end(), split, all.end());
  return kept;
}

CommandLine parse_command_line(int argc, const char* const* argv) {
  Options options;
  std::vector<std::string> ranks;
  std::string mpi_options;
  std::string agent;
  std::string agent_limit = "10s";
  std::string start_limit = "5min";
  std::string grace = "5s";
  std::string linger = "10min";
  CLI::App app(kAbout, "ckpt-run");
  app.formatter(std::make_shared<Form>());
  app.footer(kExamples);
  app.set_version_flag("--version", "ckpt-run " CAIRN_VERSION_TEXT, "Print the version and end");
  app.prefix_command();
  app.add_option("-n,--ranks", ranks,
                 "Number of application ranks; heads and spares are started in addition. MIN:MAX: start MAX, and if a\n"
                 "host is lost and none is spare, continue with the ranks of the other hosts, MIN at least")
      ->type_name("N|MIN:MAX")
      ->required()
      ->allow_extra_args(false)
      ->check(CLI::Validator(check_ranks, ""));
  app.add_option("--hosts", options.hosts, "Hosts to run on. Default: those of the batch job, or this host")
      ->type_name("A,B,…")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--spare-hosts", options.spare_hosts,
                 "Hosts that replace lost ones. Requires --hosts. If the job repairs itself, its spare ranks wait\n"
                 "there. With [recovery] mode = respawn, at least one waits on each host, and starts new processes")
      ->type_name("A,B,…")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_flag("--shrink-hosts", options.shrink_hosts,
               "If no spare host is left, continue on fewer hosts, with more ranks on each");
  app.add_option("--spares", options.spares, "Number of spare ranks, instead of [recovery] spares")->type_name("K");
  app.add_option("--max-restarts", options.max_restarts, "Give up after this many restarts")
      ->type_name("M")
      ->capture_default_str();
  app.add_flag("--fresh-if-unrecoverable", options.fresh_if_unrecoverable,
               "If no snapshot is recoverable, start the job fresh instead of giving up");
  Rehearsal rehearsal;
  rehearsal.seed = std::random_device{}() % 1'000'000;
  bool rehearses = false;
  app.add_flag("--rehearse", rehearses,
               "Run the program undisturbed, then again with failures, and compare the results.\n"
               "The snapshots of the job stay as they are");
  app.add_option("--kills", rehearsal.kills,
                 "Failures in a rehearsal: each kills a rank where a snapshot() call begins")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000).description(""));
  app.add_option("--calls", rehearsal.calls,
                 "End each run of a rehearsal after so many snapshot() calls. Default: when the program ends")
      ->type_name("N")
      ->check(CLI::Range(2, 1'000'000'000).description(""));
  app.add_option("--tolerance", rehearsal.tolerance,
                 "Relative difference that floating-point numbers may have after a rehearsal")
      ->type_name("X")
      ->capture_default_str()
      ->check(CLI::Validator(check_tolerance, ""));
  app.add_option("--seed", rehearsal.seed, "Draws the failures of a rehearsal. Default: another one each time")
      ->type_name("N");
  app.add_option("--json", rehearsal.json, "File for the result of a rehearsal, for programs")->type_name("FILE");
  app.add_option(
         "--from", options.from,
         "Continue from this version, or the newest with this label, instead of the newest; ckpt-tool list shows\n"
         "which there are. Newer versions are not restored any more. Restarts then use the newest version of this "
         "branch")
      ->type_name("VERSION")
      ->check(CLI::Validator(check_from, ""));
  app.add_flag("--step-back", options.step_back,
               "Continue from an older version, if runs from the newest one end without a newer snapshot");
  app.add_flag("--preload-tap", options.preload_tap,
               "Preload libcairn-tap in the ranks: for programs that do not link it. Default: for Python programs");
  app.add_option("--config", options.config, "The job's INI file. Default: the .ini file among its arguments")
      ->type_name("FILE");
  app.add_option("--launcher", options.launcher, "Program that starts the ranks: mpirun, mpiexec or srun")
      ->type_name("PROGRAM")
      ->capture_default_str();
  app.add_option("--mpi-options", mpi_options, "Additional options for the launcher")->type_name("\"…\"");
  app.add_option("--agent", agent,
                 "Program that runs a command on a host, like ssh; the launcher uses it, too.\n"
                 "Default: srun in a Slurm job, otherwise ssh")
      ->type_name("\"…\"");
  const auto add_time = [&](const char* name, std::string& time, const char* help) {
    app.add_option(name, time, help)->type_name("TIME")->capture_default_str()->check(CLI::Validator(check_time, ""));
  };
  add_time("--agent-limit", agent_limit, "A host that takes longer than this to answer is lost");
  add_time("--start-limit", start_limit, "A launcher that has started no rank after this time has failed");
  add_time("--grace", grace, "Time between SIGTERM and SIGKILL when the job is ended");
  add_time("--linger", linger, "Time that the launcher of a job that repairs itself may run after it has finished");

  // Everything after "--" belongs to the application, even if it looks like an option.
  const char* const* const end = argv + argc;
  const char* const* const split = std::find(argv, end, std::string_view("--"));
  try {
    app.parse(static_cast<int>(split - argv), argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream text;
    if (dynamic_cast<const CLI::Success*>(&error) != nullptr) return {{}, (app.exit(error, text, text), text.str()), 0};
    return {{}, std::string("ckpt-run: ") + error.what() + " (see ckpt-run --help)\n", kUnusable};
  }
  options.application = app.remaining();
  if (split != end) {
    if (!options.application.empty())
      return {{}, "ckpt-run: " + options.application[0] + ": no such option\n", kUnusable};
    options.application.assign(split + 1, end);
  }
  if (ranks.size() > 1) {
    return {{},
            fmt::format("ckpt-run: the number of ranks is given as {} and as {}: leave out one of the options -n and "
                        "--ranks\n",
                        ranks[0], ranks[1]),
            kUnusable};
  }
  const Ranks number = *ranks_of(ranks.front());
  options.ranks = number.most;
  if (ranks.front().find(':') != std::string::npos) options.fewest = number.fewest;
  for (const std::string_view name : kValuesOfRehearsal) {
    if (!rehearses && app.count(std::string(name)) > 0)
      return {{}, fmt::format("ckpt-run: {} is for a rehearsal: add --rehearse\n", name), kUnusable};
  }
  options.mpi_options = words_of(mpi_options);
  if (rehearses) options.rehearsal = rehearsal;
  if (const auto mistake = mistake_in(options); !mistake.empty()) return {{}, "ckpt-run: " + mistake + "\n", kUnusable};
  options.agent = words_of(agent);
  options.agent_limit = time_of(agent_limit);
  options.start_limit = time_of(start_limit);
  options.grace = time_of(grace);
  options.linger = time_of(linger);
  if (options.config.empty()) options.config = config_among(options.application);
  return {options, {}, 0};
}

}  // namespace ckpt_run
