#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "commands.hpp"
#include "config/config.hpp"
#include "format/json_text.hpp"
#include "hang/hang.hpp"
#include "hang/text.hpp"
#include "hang_json.hpp"
#include "hang_process.hpp"
#include "hang_readings.hpp"

namespace ckpt_tool {
namespace {

using cairn::hang::HangReport;
using cairn::hang::Verdict;

// Long enough that a process that computes has used processor time.
constexpr std::chrono::milliseconds kApart{200};
// Of these at most: gdb stops each for some seconds.
constexpr std::size_t kMostStacks = 8;

ExitCode code_of(const HangReport& report, bool problems) {
  if (report.verdict == Verdict::over) return kUnusable;
  if (report.verdict == Verdict::hangs || report.verdict == Verdict::suspect) return kDamage;
  return problems ? kUnusable : kGood;
}

std::set<std::uint32_t> ranks_with_stacks(const HangReport& report) {
  std::set<std::uint32_t> ranks;
  for (const cairn::hang::Finding& finding : report.findings) {
    for (const cairn::Rank rank : finding.ranks) {
      const cairn::hang::RankReport& one = report.ranks[rank.value];
      const bool lives = one.doing != cairn::hang::Doing::dead && one.host == this_host();
      if (lives && ranks.size() < kMostStacks) ranks.insert(rank.value);
    }
  }
  return ranks;
}

// By rank. Says on stderr if there is no gdb.
std::map<std::uint32_t, std::string> take_stacks(const HangReport& report) {
  std::map<std::uint32_t, std::string> stacks;
  if (!has_gdb()) {
    static bool said = false;
    if (!said) complain("--stacks: gdb is not installed here");
    said = true;
    return stacks;
  }
  if (report.verdict == Verdict::over) return stacks;
  for (const std::uint32_t rank : ranks_with_stacks(report)) stacks[rank] = stack_of(report.ranks[rank].process);
  return stacks;
}

void print(const HangRequest& request, const std::string& job, const HangReport& report) {
  const auto stacks = request.stacks ? take_stacks(report) : std::map<std::uint32_t, std::string>{};
  if (request.json) {
    Json json = hang_json(job, report);
    for (const auto& [rank, stack] : stacks) json["ranks"][rank]["stack"] = stack;
    // One line each when there are many.
    fmt::print("{}\n", cairn::json_text(json, request.watch ? -1 : 1));
  } else {
    fmt::print("{}", report_text(job, report));
    for (const auto& [rank, stack] : stacks)
      fmt::print("\n  rank {}:\n{}", rank, stack.empty() ? "    gdb does not show its stack\n" : stack);
    if (request.watch) fmt::print("\n");
  }
  std::fflush(stdout);
}

// As the heads of the job have it, who read the same file.
cairn::Result<cairn::hang::Patience> patience_of(const HangRequest& request) {
  const auto after = parse_seconds(request.after);
  if (!after) return cairn::fail(after.error().in("--after"));
  const auto source = cairn::read_config_source(request.target.config);
  if (!source) return cairn::fail(source.error());
  const auto config = cairn::parse_config(*source);
  if (!config) return cairn::fail(config.error());
  const auto& stuck_after = config->localize.stuck_after;
  const double likely =
      stuck_after ? std::chrono::duration<double>(*stuck_after).count() : std::numeric_limits<double>::infinity();
  return cairn::hang::Patience{*after, std::max(*after, likely)};
}

struct Look {
  ExitCode code = kGood;
  bool over = false;
};

cairn::Result<Look> look_once(const HangRequest& request, const OpenStores& opened,
                              const cairn::hang::Patience& patience) {
  auto readings = take_readings(opened, kApart);
  if (!readings) return cairn::fail(readings.error());
  for (const std::string& problem : readings->problems) complain(problem);
  if (readings->ranks.empty()) return Look{kUnusable, true};
  const HangReport report = examine(std::move(readings->ranks), readings->left, patience);
  print(request, opened.job, report);
  return Look{code_of(report, !readings->problems.empty()), report.verdict == Verdict::over};
}

}  // namespace

cairn::Result<ExitCode> hang(const HangRequest& request) {
  const auto patience = patience_of(request);
  if (!patience) return cairn::fail(patience.error());
  const auto opened = open_stores(request.target);
  if (!opened) return cairn::fail(opened.error());
  if (opened->empty()) return cairn::fail(opened->nothing("files"));
  auto look = look_once(request, *opened, *patience);
  if (!look) return cairn::fail(look.error());
  ExitCode code = look->code;
  while (request.watch && !look->over) {
    std::this_thread::sleep_for(std::chrono::duration<double>(*request.watch));
    look = look_once(request, *opened, *patience);
    // The files go with the job.
    if (!look) return look.error().code == cairn::Code::not_found ? code : kUnusable;
    if (!look->over) code = look->code;
  }
  return code;
}

}  // namespace ckpt_tool
