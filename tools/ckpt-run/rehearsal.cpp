#include "rehearsal.hpp"

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "exit_code.hpp"
#include "facts.hpp"
#include "inspect/survey.hpp"
#include "process.hpp"
#include "rehearsal_scratch.hpp"
#include "session/handover.hpp"
#include "session/rehearsal_notes.hpp"
#include "store/names.hpp"
#include "store/posix/posix_store.hpp"

namespace ckpt_run {
namespace {

namespace fs = std::filesystem;
using cairn::Code;
using cairn::PlannedDeath;
using cairn::Result;
using cairn::Status;

using Variables = std::map<std::string, std::string>;

// A snapshot at each call, and one at the end that all ranks' data are in.
Variables variables_of(const std::string& job, const cairn::Config& config) {
  Variables variables{{"CAIRN_JOB_NAME", job}, {"CAIRN_RESTART_MODE", "fresh"}, {"CAIRN_LEVELS_L1", "every 1"}};
  if (config.levels.of(cairn::LevelId::global).kind == cairn::Interval::Kind::off)
    variables["CAIRN_LEVELS_L4"] = "every 1000000";
  return variables;
}

// The last snapshot of a run, as it is at L4.
struct LastSnapshot {
  std::unique_ptr<cairn::JobStores> stores;
  std::unique_ptr<cairn::Survey> survey;
  std::uint64_t calls = 0;
  std::optional<cairn::SnapshotReader> reader;
};

tl::unexpected<cairn::Error> no_snapshot() {
  return cairn::fail(Code::not_found, "the program has left no snapshot",
                     "call snapshot() in its loop and finalize() at its end");
}

Result<LastSnapshot> last_snapshot(const cairn::Config& config, const std::string& job) {
  auto global = cairn::PosixStore::open_existing(config.storage.global, job);
  if (!global && global.error().code == Code::not_found) return no_snapshot();
  if (!global) return fail(global.error());
  auto sealer = cairn::make_sealer(config.integrity.key_file, job);
  if (!sealer) return fail(sealer.error());
  LastSnapshot last;
  last.stores = std::make_unique<cairn::JobStores>(cairn::JobStores{{}, *global, *sealer});
  auto survey = cairn::take_survey(*last.stores);
  if (!survey) return fail(survey.error());
  last.survey = std::make_unique<cairn::Survey>(std::move(*survey));
  const auto views = cairn::view_snapshots(*last.survey);
  if (views.empty()) return no_snapshot();
  const auto at = cairn::StoreId::global();
  const auto manifest =
      cairn::read_global_manifest(**global, cairn::names::snapshot(views.front().identity), last.stores->sealer_at(at));
  if (!manifest) return fail(manifest.error());
  last.calls = manifest->safe_point;
  auto reader = cairn::SnapshotReader::open(*last.stores, *last.survey, views.front());
  if (!reader) return fail(reader.error());
  last.reader.emplace(std::move(*reader));
  return last;
}

// The code with which ckpt-run ends. A signal to this process goes on to it.
Result<int> run_to_end(const std::vector<std::string>& command, const Variables& variables, Signals& signals) {
  const auto child = start(command, {.environment = variables, .input = true});
  if (!child) return fail(child.error());
  while (true) {
    if (const auto code = reap(*child)) return *code;
    switch (signals.wait(std::chrono::seconds(1))) {
      case Signals::Event::interrupt: ::kill(*child, SIGTERM); break;
      case Signals::Event::user1: ::kill(*child, SIGUSR1); break;
      case Signals::Event::user2: ::kill(*child, SIGUSR2); break;
      case Signals::Event::child:
      case Signals::Event::none: break;
    }
  }
}

class Rehearser {
 public:
  Rehearser(const Options& options, const std::vector<std::string>& command, const cairn::Config& config,
            const RehearsalScratch& scratch, Signals& signals, const std::function<void(const std::string&)>& say)
      : options_(options), command_(command), config_(config), scratch_(scratch), signals_(signals), say_(say) {}

  // What is found is in `result`, also after an error.
  Status play_all(Rehearsed& result) {
    const Rehearsal& wanted = *options_.rehearsal;
    say_("rehearsal: the program runs undisturbed");
    auto expected = play("the undisturbed run", "undisturbed", {});
    look_at_notes(result);
    if (!expected) return fail(expected.error());
    result.calls = expected->calls;
    result.deaths = draw_deaths(result.calls, options_.ranks, wanted.kills, wanted.seed);
    if (result.deaths.empty())
      return cairn::fail(Code::not_found, "the program has made one snapshot() call",
                         "a rehearsal needs two: failures come between them");
    say_(fmt::format("rehearsal: the program runs again, with {} failure{} (--seed {})", result.deaths.size(),
                     result.deaths.size() == 1 ? "" : "s", wanted.seed));
    auto found = play("the run with failures", "failing", result.deaths);
    if (!found) return fail(found.error());
    result.not_died = cairn::deaths_left(scratch_.directory("failing"), result.deaths);
    result.calls_after = found->calls;
    auto difference = compare_runs(*expected->reader, *found->reader, wanted.tolerance);
    if (!difference) return fail(difference.error());
    result.difference = std::move(*difference);
    if (result.difference.none()) return {};

    say_("rehearsal: the runs differ, so the program runs undisturbed once more");
    auto repeated = play("the second undisturbed run", "again", {});
    if (!repeated) return fail(repeated.error());
    auto own = compare_runs(*expected->reader, *repeated->reader, wanted.tolerance);
    if (!own) return fail(own.error());
    result.repeated = std::move(*own);
    return {};
  }

 private:
  Result<LastSnapshot> play(const std::string& what, const std::string& run, const std::vector<PlannedDeath>& deaths) {
    const std::string directory = scratch_.directory(run), job = scratch_.job(run);
    if (auto status = cairn::plan_deaths(directory, deaths); !status) return fail(status.error());
    if (const auto last = options_.rehearsal->calls) {
      if (auto status = cairn::plan_last_call(directory, *last); !status) return fail(status.error());
    }
    Variables variables = variables_of(job, config_);
    variables[cairn::kRehearsalVariable] = directory;
    const auto code = run_to_end(command_, variables, signals_);
    if (!code) return fail(code.error());
    if (*code != 0)
      return cairn::fail(*code == kUnusable ? Code::invalid_argument : Code::failed_elsewhere,
                         fmt::format("{} has failed: ckpt-run ended with code {}", what, *code),
                         "the lines above say why");
    return last_snapshot(config_, job);
  }

  void look_at_notes(Rehearsed& result) const {
    const auto notes = cairn::read_rehearsal(scratch_.directory("undisturbed"));
    result.findings = findings_in(notes, config_.localize.stuck_after);
    result.quiet = longest_quiet(notes);
  }

  const Options& options_;
  const std::vector<std::string>& command_;
  const cairn::Config& config_;
  const RehearsalScratch& scratch_;
  Signals& signals_;
  const std::function<void(const std::string&)>& say_;
};

}  // namespace

std::vector<PlannedDeath> draw_deaths(std::uint64_t calls, std::uint32_t ranks, std::uint32_t kills,
                                      std::uint64_t seed) {
  std::vector<PlannedDeath> deaths;
  if (calls < 2) return deaths;
  std::mt19937_64 random(seed);
  const std::uint64_t places = calls - 1;
  const std::uint64_t count = std::min<std::uint64_t>(kills, places);
  std::uint64_t restored = 0;  // the call that the death before leads back to
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t first = 2 + places * i / count, last = 1 + places * (i + 1) / count;
    std::uint64_t call = first + random() % (last - first + 1);
    const bool is_even = (call - 1 - restored) % 2 == 0;
    if (is_even && first < last) call += call < last ? 1 : -1;
    restored = call - 1;
    deaths.push_back({call, cairn::Rank{static_cast<std::uint32_t>(random() % ranks)}});
  }
  return deaths;
}

Rehearsed rehearse(const Options& options, const std::vector<std::string>& arguments, const cairn::Config& config,
                   Signals& signals, const std::function<void(const std::string&)>& say) {
  std::vector<std::string> command{fs::read_symlink("/proc/self/exe").string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  Rehearsed result;
  const auto scratch = RehearsalScratch::make(config, host_name());
  const auto status = scratch ? Rehearser(options, command, config, *scratch, signals, say).play_all(result)
                              : Status(fail(scratch.error()));
  if (!status) result.failed = status.error();
  return result;
}

}  // namespace ckpt_run
