// ckpt-run: starts an MPI application that uses Cairn, and starts it again after failures until it has finished.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "agent.hpp"
#include "base/clock.hpp"
#include "command.hpp"
#include "job_files.hpp"
#include "lost_hosts.hpp"
#include "older_versions.hpp"
#include "options.hpp"
#include "other_ranks.hpp"
#include "process.hpp"
#include "rehearsal.hpp"
#include "remains.hpp"
#include "restart_loop.hpp"
#include "session/handover.hpp"
#include "session/rehearsal.hpp"
#include "sick_hosts.hpp"
#include "signals.hpp"
#include "supervisor.hpp"

namespace {

using namespace ckpt_run;

void say(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) fmt::print(stderr, "ckpt-run: {}\n", line);
}

// No other life will follow.
bool is_over(const LifeEnd& end) {
  using Kind = cairn::CompletionMark::Kind;
  return end.mark.kind == Kind::finished || end.mark.kind == Kind::stopped || end.interrupted;
}

// What the job's heads had found, and not yet analysed, when it ended.
void examine(const cairn::Config& config, const Life& life, LifeEnd& end, const OnHosts& on_hosts,
             std::chrono::seconds today) {
  if (end.mark.kind == cairn::CompletionMark::Kind::finished || end.interrupted || !end.opened) return;
  const auto remains = examine_remains(config, life.placement, end.lost_hosts, today, on_hosts);
  if (!remains) return say("ckpt-tool health cannot show what the job left: " + remains.error().text());
  for (const Remains::Unread& unread : remains->unread) say(unread_text(unread));
  for (const std::string& verdict : remains->verdicts) say(verdict);
  end.dead_ranks = remains->dead_ranks;
}

ExitCode unusable(const cairn::Error& error) {
  say(error.text());
  return kUnusable;
}

// What cannot be read moves no job.
std::vector<std::string> known_sick(const cairn::Config& config) {
  auto hosts = sick_hosts(config, cairn::seconds_of_today());
  if (!hosts) say("no sick host is avoided: " + hosts.error().text());
  return hosts ? std::move(*hosts) : std::vector<std::string>{};
}

// Runs commands on hosts by the agent; on this host without it.
OnHosts commands_on_hosts(const Options& options, const Facts& facts, Signals& signals, const std::string& name) {
  return [&, agent = choose_agent(options, facts, name)](const std::vector<HostCommand>& wanted) {
    std::vector<std::vector<std::string>> commands;
    for (const auto& [host, command] : wanted) {
      commands.push_back(is_this_host(facts, host) ? std::vector<std::string>{"sh", "-c", command}
                                                   : on_host(agent, host, command));
    }
    return run_all_for_output(commands, options.agent_limit, kMostAnswerBytes, [&] { return signals.interrupted(); });
  };
}

std::vector<std::string> those_that_answer(const std::vector<std::string>& hosts, const OnHosts& on_hosts) {
  if (hosts.empty()) return {};
  std::vector<HostCommand> commands;
  for (const std::string& host : hosts) commands.push_back({host, answer_command()});
  const auto endings = on_hosts(commands);
  std::vector<std::string> answering;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (endings[i].code == 0) answering.push_back(hosts[i]);
  }
  return answering;
}

// Before a run.
void announce(const cairn::Config& config, const Facts& facts, const Life& life) {
  if (life.fresh) return;
  const auto is_here = [&](std::string_view host) { return is_this_host(facts, host); };
  if (const auto other = snapshot_of_other_ranks(config, life.placement, is_here)) say(text_of(*other));
}

int play_rehearsal(const Options& options, const std::vector<std::string>& arguments, const cairn::Config& config,
                   Signals& signals) {
  const Rehearsal& wanted = *options.rehearsal;
  const Rehearsed rehearsed = rehearse(options, arguments, config, signals, say);
  if (signals.interrupted()) return kInterrupted;
  say(text_of(rehearsed, wanted.tolerance));
  if (!wanted.json.empty() && !(std::ofstream(wanted.json) << json_of(rehearsed, wanted.tolerance)).flush())
    return unusable({cairn::Code::io, wanted.json + " cannot be written", "--json names a file"});
  if (rehearsed.failed && rehearsed.failed->code == cairn::Code::invalid_argument) return kUnusable;
  return rehearsed.has_same_result() ? kFinished : kGaveUp;
}

int run(int argc, char** argv) {
  auto command_line = parse_command_line(argc, argv);
  if (!command_line.options) {
    std::fputs(command_line.text.c_str(), command_line.exit_code == kFinished ? stdout : stderr);
    return command_line.exit_code;
  }
  if (const char* const rehearsal = std::getenv(cairn::kRehearsalVariable))
    command_line.options->last_call = cairn::planned_last_call(rehearsal);
  const Options& options = *command_line.options;
  Signals signals;
  adopt_orphans();

  const auto source = cairn::read_config_source(options.config);
  if (!source) return unusable(source.error());
  const auto config = cairn::parse_config(*source);
  if (!config) return unusable(config.error());
  if (options.rehearsal) return play_rehearsal(options, without_rehearsal(argc, argv), *config, signals);
  const auto facts = learn_facts(options);
  if (!facts) return unusable(facts.error());
  const auto mends = mends_itself(*config, *facts);
  if (!mends) return unusable(mends.error());
  const auto name = name_of_run(facts->host);
  const auto files = JobFiles::make(*config, facts->host, name);
  if (!files) return unusable(files.error());

  auto hosts = options.hosts.empty() ? facts->batch_hosts : options.hosts;
  if (hosts.empty()) hosts = {name_of_this_host(*facts)};
  Supervisor supervisor(options, *config, *facts, *mends, **files, signals, name);
  RestartLoop loop(options, *config, hosts);
  const OnHosts on_hosts = commands_on_hosts(options, *facts, signals, name);
  for (Step step = loop.first(known_sick(*config));;) {
    say(step.text);
    if (!step.life) return step.code;
    announce(*config, *facts, *step.life);
    auto end = supervisor.run(*step.life);
    if (end) examine(*config, *step.life, *end, on_hosts, cairn::seconds_of_today());
    if (end && !end->lost_hosts.empty()) {
      const auto noted = note_lost_hosts(*config, step.life->placement, end->lost_hosts, cairn::seconds_of_today());
      if (!noted) say("ckpt-tool health cannot show the lost hosts: " + noted.error().text());
    }
    if (end) end->sick_hosts = known_sick(*config);
    if (end && end->restored && !is_over(*end)) {
      const auto is_here = [&](std::string_view host) { return is_this_host(*facts, host); };
      end->older = older_versions(*config, step.life->placement, is_here, *end->restored);
    }
    if (end && !is_over(*end)) end->back_hosts = those_that_answer(loop.away(), on_hosts);
    step = end ? loop.after(*end) : loop.not_started(end.error());
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    say(error.what());
    return kUnusable;
  }
}
