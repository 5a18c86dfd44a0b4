// ckpt-tool: looks at the snapshots of a job, running or not. Reads only.
#include <exception>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.hpp"

namespace {

using ckpt_tool::Request;

constexpr const char* kAbout =
    "Shows and checks the snapshots of a Cairn job. Reads only: it may look at a running job.\n"
    "Exit codes: 0 all good, 1 something is damaged or missing, 2 wrong arguments, nothing found, or a newer format.";

constexpr const char* kExamples =
    "Examples:\n"
    "  ckpt-tool list --config heat.ini\n"
    "  ckpt-tool inspect --config heat.ini --version 42\n"
    "  ckpt-tool verify --local /dev/shm/cairn --global ./checkpoints --job heat\n"
    "  ckpt-tool verify --local from-node0 --local from-node1     (stores copied to one place)";

void add_target(CLI::App& command, Request& request) {
  command.add_option("--config", request.target.config, "The job's INI file: says where the stores are")
      ->type_name("FILE");
  command.add_option("--local", request.target.locals, "Where node stores are, as [storage] local; may be given again")
      ->type_name("DIR")
      ->take_all()
      ->allow_extra_args(false);
  command.add_option("--global", request.target.global, "Where the global store is, as [storage] global")
      ->type_name("DIR");
  command.add_option("--job", request.target.job, "The job's name; may be left out when there is only one")
      ->type_name("NAME");
  command.add_flag("--json", request.json, "Print JSON");
}

void add_version(CLI::App& command, Request& request, const char* help) {
  command.add_option("--version", request.version, help)->type_name("N");
}

int run(int argc, char** argv) {
  CLI::App app(kAbout, "ckpt-tool");
  app.set_version_flag("--version", std::string("ckpt-tool ") + CAIRN_VERSION, "Print the version and end");
  app.footer(kExamples);
  app.require_subcommand(1);
  Request request;

  CLI::App* list = app.add_subcommand("list", "Which snapshots there are, at which levels, how old");
  add_target(*list, request);
  list->footer("Example:\n  ckpt-tool list --config heat.ini --json");

  CLI::App* inspect = app.add_subcommand("inspect", "What is in a snapshot, and where each file is");
  add_target(*inspect, request);
  add_version(*inspect, request, "Which snapshot; the newest when left out");
  inspect->footer("Example:\n  ckpt-tool inspect --config heat.ini --version 42");

  CLI::App* verify = app.add_subcommand("verify", "Read everything and say what is good, damaged or missing");
  add_target(*verify, request);
  add_version(*verify, request, "Only this snapshot");
  verify->add_flag("--quiet", request.quiet, "Print only what is not good, and the summary");
  verify->footer("Example:\n  ckpt-tool verify --config heat.ini --quiet");

  ckpt_tool::TraceRequest traces;
  CLI::App* trace = app.add_subcommand("trace", "Puts the traces of a job's processes together, for ui.perfetto.dev");
  trace->add_option("FILE", traces.inputs, "Trace files, or what [log] trace was set to: then all of its files")
      ->required();
  trace->add_option("-o,--output", traces.output, "Where the whole goes; only a table is printed when left out")
      ->type_name("FILE");
  trace->footer("Example:\n  ckpt-tool trace heat.json -o all.json");

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked_for_help) {
    return app.exit(asked_for_help);
  } catch (const CLI::ParseError& error) {
    ckpt_tool::complain(std::string(error.what()) + " (see ckpt-tool --help)");
    return ckpt_tool::kUnusable;
  }
  const auto code = list->parsed()      ? ckpt_tool::list(request)
                    : inspect->parsed() ? ckpt_tool::inspect(request)
                    : trace->parsed()   ? ckpt_tool::trace(traces)
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
