// ckpt-tool: looks at the snapshots of a job, running or not, and says when to take them. Removes some if asked to.
#include <exception>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <cairn/version.hpp>

#include "commands.hpp"

namespace {

using ckpt_tool::HangRequest;
using ckpt_tool::HealthRequest;
using ckpt_tool::Request;
using ckpt_tool::Target;

constexpr const char* kExitCodes =
    "Exit codes:\n"
    "  0  nothing is damaged or missing (list does not check this)\n"
    "  1  a file is damaged or missing\n"
    "  2  the arguments are wrong, nothing was found, or a file has a newer format, another key, or cannot be read\n";

constexpr const char* kAbout =
    "Shows and verifies the snapshots of a Cairn job, plans how often to take them, and reports why a job hangs or\n"
    "which of its nodes are sick.\n"
    "delete and prune remove snapshots of a job that does not run; rebuild writes what its node stores have lost. "
    "Other\n"
    "commands change no store of the job but with health --clear and --report, so they may be used while the job "
    "runs.\n";

constexpr const char* kExamples =
    "Examples:\n"
    "  ckpt-tool list --config heat.ini\n"
    "  ckpt-tool inspect --config heat.ini --version 42\n"
    "  ckpt-tool verify --local /dev/shm/cairn-1000 --global ./checkpoints --job heat\n"
    "  ckpt-tool verify --local from-node0 --local from-node1     (stores copied to one place)\n"
    "  ckpt-tool hang --config heat.ini\n"
    "  ckpt-tool plan --cost 1s,6s,8s,90s --mtbf 12h,3d,10d,60d";

constexpr const char* kExportExamples =
    "Regions that have a place in one global array become this array. Other regions are joined along the first "
    "dimension,\n"
    "in rank order, if only its length differs. What cannot be joined is written for each rank. Shards of lost nodes "
    "are\n"
    "read from copies, or computed from parity. No store is changed, so the job may run meanwhile.\n"
    "Exit codes:\n"
    "  0  the arrays are whole\n"
    "  1  with --partial: some ranks were left out\n"
    "  2  the arguments are wrong, or a shard is lost or damaged\n"
    "Examples:\n"
    "  ckpt-tool export --config heat.ini newest plate --to plate.npy\n"
    "  ckpt-tool export --config heat.ini 52 --to heat52.h5\n"
    "  ckpt-tool export --local from-node0 --local from-node1 --job heat 52 --to heat52      (a directory)";

constexpr const char* kCopyExamples =
    "Without --yes, only shows what would be written. The job may run meanwhile; its stores are not changed. DIR may\n"
    "have other snapshots of the job, if no run has continued there. To restore the copy, set [storage] global = DIR,\n"
    "and [storage] local to a directory without snapshots of the job.\n"
    "Exit codes:\n"
    "  0  done, or without --yes: this would be done; or DIR has the snapshot\n"
    "  2  nothing was copied: a shard is lost or damaged, or DIR cannot take the copy\n"
    "Examples:\n"
    "  ckpt-tool copy --config heat.ini 52 /archive/heat\n"
    "  ckpt-tool copy --config heat.ini 52 /archive/heat --yes";

constexpr const char* kRebuildExamples =
    "Reads all files, as verify does. Without --yes, only shows what would be written. Refused while the job runs. "
    "Writes\n"
    "node stores only. For a node whose store is lost, make an empty directory DIR/JOB, and name DIR with --local.\n"
    "Exit codes:\n"
    "  0  done, or without --yes: this would be done; or there is nothing to rebuild\n"
    "  1  the same, but something cannot be rebuilt\n"
    "  2  the arguments are wrong, the job runs, or a store failed\n"
    "Examples:\n"
    "  ckpt-tool rebuild --config heat.ini\n"
    "  ckpt-tool rebuild --config heat.ini newest --yes";

constexpr const char* kRemovalExitCodes =
    "Exit codes:\n"
    "  0  done, or without --yes: this would be done\n"
    "  1  the same, but snapshots stay because a manifest has a newer format, another key, or cannot be read (prune)\n"
    "  2  nothing or not all was removed: the job runs, the version does not exist, or it is the last one\n";

constexpr const char* kDeleteExamples =
    "Without --yes, only shows what would be removed. Refused while the job runs.\n"
    "Examples:\n"
    "  ckpt-tool delete --config heat.ini 40 41\n"
    "  ckpt-tool delete --config heat.ini 40 41 --yes";

constexpr const char* kPruneExamples =
    "Without --yes, only shows what would be removed. Refused while the job runs. Reads no data, as list: run verify\n"
    "first. Also removes snapshots that no restart can use if they are older than one that is kept, and directories\n"
    "without a manifest.\n"
    "Examples:\n"
    "  ckpt-tool prune --config heat.ini --keep 2\n"
    "  ckpt-tool prune --config heat.ini --keep 2 --yes";

constexpr const char* kPlanAbout =
    "Compute how often to take snapshots at each level, the overhead, and the lines for the INI file. Or report\n"
    "whether a job can be restarted on another number of ranks";
constexpr const char* kPlanExamples =
    "The pattern is the optimum of Benoit et al. 2016 (DOI 10.1109/TC.2016.2643660). For a single level it is that\n"
    "of Young and Daly. A pattern is the sequence of snapshots between two at the highest level. Every snapshot starts "
    "on\n"
    "L1 and is promoted, so the cost of a level is what it adds to the levels below. A list has one entry for each\n"
    "level, lowest level first.\n"
    "Examples:\n"
    "  ckpt-tool plan --cost 1s,6s,8s,90s --recovery 1s,5s,9s,2min --mtbf 12h,3d,10d,60d\n"
    "  ckpt-tool plan --levels 1,4 --cost 1s,90s --node-mtbf 5y --nodes 1000 --shares 0.8,0.2\n"
    "  ckpt-tool plan --measured checkpoints/heat/costs.json      (written by a job whose levels are auto)\n"
    "  ckpt-tool plan --ranks 6 --config heat.ini      (whether heat can continue on 6 ranks; 1: it cannot)\n"
    "  ckpt-tool plan --measured my.json      ({\"levels\": [{\"cost\": 1, \"recovery\": 0.5, \"mtbf\": 43200}, …]})";

constexpr const char* kSimulateAbout = "Simulate jobs with failures, and compare ways to protect them";
constexpr const char* kSimulateExamples =
    "Failures occur at any time, also during checkpoints and recoveries. A failure that needs a level destroys what "
    "is\n"
    "stored below this level. The intervals between snapshots count only work that is not lost later. With helpers,\n"
    "survivors of a failure during work keep their state, and the lost work is repeated as many times faster as there\n"
    "are helpers. After any other failure all ranks roll back.\n"
    "Examples:\n"
    "  ckpt-tool simulate --cost 1s,6s,8s,90s --mtbf 12h,3d,10d,60d --work 3d --plot overhead.svg\n"
    "  ckpt-tool simulate --paper bondarenko2019";

constexpr const char* kHangAbout = "Whether a running job hangs, and which ranks cause it";
constexpr const char* kHangExamples =
    "Reads twice which MPI calls the ranks have recorded in their node's store, and looks at the processes of this\n"
    "host. The job is not disturbed, except by --stacks. --local adds stores of other nodes, if this host can read "
    "them.\n"
    "Exit codes:\n"
    "  0  the job is healthy, or ranks wait for a rank that may continue: it computes, or reads a file\n"
    "  1  it hangs, or ranks have waited for such a rank for longer than [localize] stuck_after\n"
    "  2  nothing was found, all processes are gone, or a file has a newer format or cannot be read\n"
    "Examples:\n"
    "  ckpt-tool hang --config heat.ini\n"
    "  ckpt-tool hang --local /dev/shm/cairn-1000 --job heat --stacks\n"
    "  ckpt-tool hang --config heat.ini --watch 60 --after 5min --json      (one line of JSON a minute)";

constexpr const char* kHealthAbout = "Report which nodes and ranks of a running job are sick, and why";
constexpr const char* kHealthExamples =
    "The heads of a job find this out while it runs, and keep it in the global store.\n"
    "Exit codes:\n"
    "  0  heads watch the job, and nothing is known to be sick; or the rules are in order\n"
    "  1  a node or a rank is sick, or the rules have mistakes\n"
    "  2  no head watches the job, the arguments are wrong, or a file has a newer format, another key, or cannot be "
    "read\n"
    "Examples:\n"
    "  ckpt-tool health --config heat.ini\n"
    "  ckpt-tool health --config heat.ini --watch 60 --json      (one line of JSON a minute)\n"
    "  ckpt-tool health --config heat.ini --report host:c17 'the fan is loud'\n"
    "  ckpt-tool health --default-rules > my.rules\n"
    "  ckpt-tool health --check-rules my.rules";

void add_target(CLI::App& command, Target& target) {
  command.add_option("--config", target.config, "The job's INI file, which names the stores, the job and the key")
      ->type_name("FILE");
  command.add_option("--local", target.locals, "Directory of node stores, as [storage] local; may be repeated")
      ->type_name("DIR")
      ->take_all()
      ->allow_extra_args(false);
  command.add_option("--global", target.global, "Directory of the global store, as [storage] global")->type_name("DIR");
  command.add_option("--job", target.job, "The job's name; needed if there are several jobs")->type_name("NAME");
  command.add_option("--key-file", target.key_file, "File with the job's key, as [integrity] key_file")
      ->type_name("FILE");
}

void add_target(CLI::App& command, Request& request) {
  add_target(command, request.target);
  command.add_flag("--json", request.json, "Print JSON; the man page names its members");
}

void add_watch(CLI::App& command, std::optional<double>& seconds, const char* help) {
  command.add_option("--watch", seconds, help)
      ->type_name("SECONDS")
      ->expected(0, 1)
      ->default_str("10")
      ->check(CLI::Range(0.1, 1e6));
}

CLI::App* add_hang(CLI::App& app, HangRequest& request) {
  CLI::App* const command = app.add_subcommand("hang", kHangAbout);
  add_target(*command, request.target);
  command->add_flag("--json", request.json, "Print JSON; the man page names its members");
  command->add_option("--after", request.after, "How long a rank may wait for another before that is reported")
      ->type_name("TIME")
      ->capture_default_str();
  add_watch(*command, request.watch, "Repeat the report every SECONDS seconds (10) until the job has ended");
  command->add_flag("--stacks", request.stacks, "Show the stacks of ranks on this host that cause the hang, with gdb");
  command->footer(kHangExamples);
  return command;
}

CLI::App* add_health(CLI::App& app, HealthRequest& request) {
  CLI::App* const command = app.add_subcommand("health", kHealthAbout);
  add_target(*command, request.target);
  command->add_flag("--json", request.json, "Print JSON");
  add_watch(*command, request.watch, "Repeat the report every SECONDS seconds (10) until it is interrupted");
  command->add_flag("--clear", request.clear, "Forget the verdicts: remove them from the global store");
  command
      ->add_option("--report", request.report,
                   "Report that something seems to be wrong with WHOM (node:N, rank:N or host:NAME); TEXT says what")
      ->type_name("WHOM TEXT")
      ->expected(2);
  command->add_option("--check-rules", request.rules, "Check this file, and print its rules")->type_name("FILE");
  command->add_flag("--default-rules", request.default_rules, "Print the rules that apply without a file");
  command->footer(kHealthExamples);
  return command;
}

void add_version(CLI::App& command, Request& request, const char* help) {
  command.add_option("--version", request.version, help)->type_name("N");
}

void add_scenario(CLI::App& command, ckpt_tool::ScenarioOptions& options) {
  const auto add_list = [&](const char* name, auto& value, const char* type, const char* help) {
    return command.add_option(name, value, help)->type_name(type)->delimiter(',');
  };
  add_list("--cost", options.costs, "TIME,…", "Time that the application loses to each level at a snapshot");
  add_list("--recovery", options.recoveries, "TIME,…",
           "Time from a failure until the work continues. Default: as --cost");
  add_list("--mtbf", options.mtbfs, "TIME,…", "Mean time between failures (MTBF) that need each level, or never");
  command.add_option("--node-mtbf", options.node_mtbf, "Instead of --mtbf: the MTBF of one node")->type_name("TIME");
  command.add_option("--nodes", options.nodes, "The number of nodes, with --node-mtbf, or for which --mtbf holds")
      ->type_name("N");
  add_list("--shares", options.shares, "X,…", "With --node-mtbf: the share of the failures that needs each level");
  add_list("--levels", options.numbers, "N,…", "Levels (1 to 4) that the lists are for. Default: from L1 up");
  command.add_option("--measured", options.measured, "JSON file with costs, recovery times and MTBFs")
      ->type_name("FILE");
}

void add_ranks(CLI::App& command, ckpt_tool::RanksRequest& request) {
  const auto scenario = command.get_options();
  CLI::Option* const ranks =
      command
          .add_option("--ranks", request.ranks,
                      "Instead: report whether the newest snapshot of a job can be restored on so many ranks")
          ->type_name("M")
          ->check(CLI::Range(1U, 1U << 24U));
  for (CLI::Option* const other : scenario)
    if (other != command.get_help_ptr()) ranks->excludes(other);
  add_target(command, request.target);
  for (const char* name : {"--config", "--local", "--global", "--job", "--key-file"})
    command.get_option(name)->needs(ranks);
}

void add_simulation(CLI::App& command, ckpt_tool::SimulateOptions& options) {
  command.add_option("--work", options.work, "Time that a job takes without failures and checkpoints")
      ->type_name("TIME")
      ->capture_default_str();
  command
      .add_option(
          "--intervals", options.intervals,
          "Work between snapshots at each level, or off: compare this plan, too. Each a multiple of the one before")
      ->type_name("TIME,…")
      ->delimiter(',');
  command
      .add_option("--survives", options.survives,
                  "Losses after which only the lost ranks roll back, as [replay] survives")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"process", "node"}))
      ->capture_default_str();
  command.add_option("--helpers", options.helpers, "Numbers of helpers to compare, one row of the table each")
      ->type_name("N,…")
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--runs", options.simulation.runs, "Number of jobs to simulate")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--seed", options.simulation.seed, "Seed of the random failures")
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--threads", options.simulation.threads,
                  "Number of threads, which does not change the results. 0: all processors")
      ->type_name("N")
      ->capture_default_str();
  command.add_flag("--json", options.json, "Print JSON, without the limits of the formula");
  command.add_option("--plot", options.plot, "Draw the overhead against the MTBF")->type_name("FILE.svg");
  command.add_option("--paper", options.paper, "Compare the simulation with a published table instead")
      ->type_name("NAME")
      ->check(CLI::IsMember({"bondarenko2019"}));
}

CLI::App* add_export(CLI::App& app, ckpt_tool::ExportRequest& request) {
  CLI::App* const command =
      app.add_subcommand("export", "Write regions of a snapshot as arrays for other programs, from any level");
  add_target(*command, request.target);
  command->add_option("VERSION", request.version, "The snapshot: its version or label, as list shows them, or newest")
      ->required();
  command->add_option("REGION", request.regions, "Names of regions. Default: all");
  command->add_option("--to", request.to, "FILE.h5 for HDF5, FILE.npy for one array, else a directory of .npy files")
      ->type_name("PATH")
      ->required();
  command->add_option("--rank", request.rank, "Only the regions of this rank")->type_name("N");
  command->add_flag("--partial", request.partial, "Leave out ranks whose shards are lost, instead of failing");
  command->footer(kExportExamples);
  return command;
}

CLI::App* add_copy(CLI::App& app, ckpt_tool::CopyRequest& request) {
  CLI::App* const command =
      app.add_subcommand("copy", "Copy a snapshot, from any level, to a global directory of its own");
  add_target(*command, request.target);
  command->add_option("VERSION", request.version, "The snapshot: its version or label, as list shows them, or newest")
      ->required();
  command->add_option("DIR", request.to, "The directory for the copy")->required();
  command->add_flag("--json", request.json, "Print JSON; the man page names its members");
  command->add_flag("--yes", request.yes, "Copy, instead of showing what would be written");
  command->footer(kCopyExamples);
  return command;
}

CLI::App* add_pin(CLI::App& app, ckpt_tool::PinRequest& request, const char* name, const char* about) {
  CLI::App* const command = app.add_subcommand(name, about);
  add_target(*command, request.target);
  command->add_option("VERSION", request.version, "The snapshot: its version or label, as list shows them, or newest")
      ->required();
  return command;
}

CLI::App* add_rebuild(CLI::App& app, ckpt_tool::RebuildRequest& request) {
  CLI::App* const command = app.add_subcommand(
      "rebuild", "Write lost and damaged shards, copies and parity again, for a job that does not run");
  add_target(*command, request.target);
  command->add_option("VERSION", request.version,
                      "The snapshot: its version or label, as list shows them, or newest. Default: all");
  command->add_flag("--json", request.json, "Print JSON; the man page names its members");
  command->add_flag("--yes", request.yes, "Rebuild, instead of showing what would be written");
  command->footer(kRebuildExamples);
  return command;
}

CLI::App* add_removal(CLI::App& app, ckpt_tool::RemovalRequest& request, const char* name, const char* about) {
  CLI::App* const command = app.add_subcommand(name, about);
  add_target(*command, request.target);
  command->add_flag("--json", request.json, "Print JSON; the man page names its members");
  command->add_flag("--yes", request.yes, "Remove, instead of showing what would be removed");
  return command;
}

CLI::App* add_delete(CLI::App& app, ckpt_tool::RemovalRequest& request) {
  CLI::App* const command = add_removal(app, request, "delete", "Remove snapshots of a job that does not run");
  command->add_option("VERSION", request.versions, "The snapshots, as list shows them")->required();
  command->add_flag("--force", request.force, "Also if no snapshot is left that a restart can use");
  command->footer(std::string(kRemovalExitCodes) + kDeleteExamples);
  return command;
}

CLI::App* add_prune(CLI::App& app, ckpt_tool::RemovalRequest& request) {
  CLI::App* const command =
      add_removal(app, request, "prune", "Remove all but the newest snapshots of a job that does not run");
  command->add_option("--keep", request.keep, "How many recoverable snapshots stay")
      ->type_name("N")
      ->required()
      ->check(CLI::Range(1U, 1U << 24U));
  command->footer(std::string(kRemovalExitCodes) + kPruneExamples);
  return command;
}

CLI::App* add_trace(CLI::App& app, ckpt_tool::TraceRequest& request) {
  CLI::App* const command = app.add_subcommand("trace", "Combine the traces of a job's processes, for ui.perfetto.dev");
  command->add_option("FILE", request.inputs, "Trace files, or the path that [log] trace was set to: all of its files")
      ->required();
  command->add_option("-o,--output", request.output, "File for the combined trace. Default: only a table is printed")
      ->type_name("FILE");
  command->footer("Example:\n  ckpt-tool trace heat.json -o all.json");
  return command;
}

int run(int argc, char** argv) {
  CLI::App app(std::string(kAbout) + kExitCodes, "ckpt-tool");
  app.set_version_flag("--version", "ckpt-tool " CAIRN_VERSION_TEXT, "Print the version and end");
  app.footer(kExamples);
  app.require_subcommand(1);
  Request request;

  CLI::App* list = app.add_subcommand("list", "List the snapshots of a job, with their levels and ages");
  add_target(*list, request);
  list->footer(std::string(kExitCodes) + "Example:\n  ckpt-tool list --config heat.ini --json");

  CLI::App* inspect = app.add_subcommand("inspect", "Show what is in a snapshot, and where its files are");
  add_target(*inspect, request);
  add_version(*inspect, request, "The snapshot to show. Default: the newest");
  inspect->add_flag("--details", request.details, "Show each rank, node and file on a line of its own");
  inspect->footer(std::string(kExitCodes) + "Example:\n  ckpt-tool inspect --config heat.ini --version 42");

  CLI::App* verify = app.add_subcommand("verify", "Read all files, and report which are good, damaged or missing");
  add_target(*verify, request);
  add_version(*verify, request, "Verify only this snapshot");
  verify->add_flag("--quiet", request.quiet, "Print only what is not good, and the summary");
  verify->footer(std::string(kExitCodes) + "Example:\n  ckpt-tool verify --config heat.ini --quiet");

  HangRequest hanging;
  CLI::App* hang = add_hang(app, hanging);

  HealthRequest sick;
  CLI::App* health = add_health(app, sick);

  ckpt_tool::ExportRequest exports;
  CLI::App* exporting = add_export(app, exports);

  ckpt_tool::CopyRequest copies;
  CLI::App* copying = add_copy(app, copies);
  ckpt_tool::PinRequest pins;
  CLI::App* pinning = add_pin(app, pins, "pin", "Keep a snapshot of a job that does not run in the global store");
  CLI::App* unpinning = add_pin(app, pins, "unpin", "Let retention remove a pinned snapshot again");

  ckpt_tool::RebuildRequest rebuilds;
  CLI::App* rebuilding = add_rebuild(app, rebuilds);

  ckpt_tool::RemovalRequest deletion;
  CLI::App* deleting = add_delete(app, deletion);
  ckpt_tool::RemovalRequest pruning;
  CLI::App* prune = add_prune(app, pruning);

  ckpt_tool::TraceRequest traces;
  CLI::App* trace = add_trace(app, traces);

  ckpt_tool::SimulateOptions options;
  ckpt_tool::RanksRequest on_ranks;
  CLI::App* plan = app.add_subcommand("plan", kPlanAbout);
  add_scenario(*plan, options.scenario);
  add_ranks(*plan, on_ranks);
  plan->footer(kPlanExamples);

  CLI::App* simulate = app.add_subcommand("simulate", kSimulateAbout);
  add_scenario(*simulate, options.scenario);
  add_simulation(*simulate, options);
  simulate->footer(kSimulateExamples);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked_for_help) {
    return app.exit(asked_for_help);
  } catch (const CLI::ParseError& error) {
    ckpt_tool::complain(std::string(error.what()) + " (see ckpt-tool --help)");
    return ckpt_tool::kUnusable;
  }
  const auto code = list->parsed()         ? ckpt_tool::list(request)
                    : inspect->parsed()    ? ckpt_tool::inspect(request)
                    : hang->parsed()       ? ckpt_tool::hang(hanging)
                    : health->parsed()     ? ckpt_tool::health(sick)
                    : exporting->parsed()  ? ckpt_tool::export_regions(exports)
                    : copying->parsed()    ? ckpt_tool::copy_version(copies)
                    : pinning->parsed()    ? ckpt_tool::pin_version(pins)
                    : unpinning->parsed()  ? ckpt_tool::unpin_version(pins)
                    : rebuilding->parsed() ? ckpt_tool::rebuild_versions(rebuilds)
                    : deleting->parsed()   ? ckpt_tool::delete_versions(deletion)
                    : prune->parsed()      ? ckpt_tool::prune(pruning)
                    : trace->parsed()      ? ckpt_tool::trace(traces)
                    : on_ranks.ranks       ? ckpt_tool::plan_ranks(on_ranks)
                    : plan->parsed()       ? ckpt_tool::plan(options.scenario)
                    : simulate->parsed()   ? ckpt_tool::simulate(options)
                                           : ckpt_tool::verify(request);
  if (code) return *code;
  ckpt_tool::complain(code.error().text());
  return ckpt_tool::kUnusable;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    ckpt_tool::complain(error.what());
    return ckpt_tool::kUnusable;
  }
}
