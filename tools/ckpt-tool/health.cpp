// ckpt-tool health: which nodes and ranks of a job are sick; and the rules by which that is found.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/drawn_number.hpp"
#include "base/plain_text.hpp"
#include "base/text_file.hpp"
#include "commands.hpp"
#include "format/health_file.hpp"
#include "format/json_text.hpp"
#include "format/suspicion_file.hpp"
#include "health_watch.hpp"
#include "localize/facts.hpp"
#include "localize/names.hpp"
#include "localize/rules.hpp"
#include "localize/words.hpp"
#include "store/names.hpp"

namespace ckpt_tool {
namespace {

using cairn::HealthEntry;
using cairn::HealthFile;
using cairn::Result;

Result<ExitCode> check_rules(const std::string& file) {
  const auto text = cairn::read_text_file(file, cairn::Code::io);
  if (!text) return cairn::fail(text.error());
  const auto rules = cairn::localize::parse_rules(*text);
  if (!rules) {
    for (const auto& mistake : rules.error()) complain(cairn::localize::mistake_text(file, mistake));
    return kDamage;
  }
  for (const auto& rule : rules->rules) fmt::print("{}\n", cairn::localize::rule_text(*rules, rule));
  const auto idle = cairn::localize::find_idle_rules(*rules);
  for (const auto& mistake : idle) complain(cairn::localize::mistake_text(file, mistake));
  if (!idle.empty()) return kDamage;
  fmt::print("{}: {} rules are in order\n", file, rules->rules.size());
  return kGood;
}

std::uint64_t today() { return static_cast<std::uint64_t>(cairn::seconds_of_today().count()); }

// Without the verdicts that have expired.
Result<HealthFile> read_health(const OpenStores& opened, const cairn::FileName& name) {
  const auto text = read_text(*opened.stores.global, name, cairn::kMostHealthBytes);
  if (!text && text.error().code == cairn::Code::not_found) return HealthFile{};
  if (!text) return cairn::fail(text.error());
  auto health = parse_health_file(*text, opened.stores.sealer_at(cairn::StoreId::global()));
  if (!health) return cairn::fail(health.error().in_file(name.path));
  std::erase_if(health->entries, [now = today()](const auto& entry) { return entry.expired(now); });
  return *health;
}

// Those of runs that could not read health.json.
Result<std::vector<cairn::FileName>> files_of_runs(const OpenStores& opened) {
  const auto entries = opened.stores.global->list(cairn::DirName{});
  if (!entries) return cairn::fail(entries.error());
  std::vector<cairn::FileName> files;
  for (const cairn::Entry& entry : *entries)
    if (!entry.directory && cairn::names::is_health_of_a_run(entry.name)) files.push_back({entry.name});
  return files;
}

// A job that has found nothing keeps no file. A file that cannot be read hides no other.
Result<HealthFile> read_health(const OpenStores& opened) {
  const auto files = files_of_runs(opened);
  if (!files) return cairn::fail(files.error());
  auto health = read_health(opened, cairn::names::health());
  if (files->empty()) return health;
  HealthFile all;
  if (health) all = std::move(*health);
  if (!health) complain(health.error().text());
  for (const cairn::FileName& name : *files) {
    auto more = read_health(opened, name);
    if (!more) return cairn::fail(more.error());
    all.life = std::max(all.life, more->life);
    std::ranges::move(more->entries, std::back_inserter(all.entries));
  }
  return all;
}

Json json_of(const cairn::localize::Observation& seen) {
  Json json{{"symptom", cairn::localize::name_of(seen.kind)},
            {"reporter", seen.reporter.value},
            {"count", seen.count},
            {"worst", seen.worst},
            {"seconds_before", std::chrono::duration<double>(seen.last).count()}};
  if (!seen.note.empty()) json["note"] = seen.note;
  return json;
}

Json json_of(const HealthEntry& entry) {
  const auto& verdict = entry.verdict;
  Json json{{"fault", name_of(verdict.fault)}, {"node", verdict.suspect.node.value}, {"host", entry.host}};
  if (verdict.suspect.rank) json["rank"] = verdict.suspect.rank->value;
  json["nodes"] = Json::array();
  for (const cairn::NodeId node : verdict.nodes) json["nodes"].push_back(node.value);
  json["analyst"] = verdict.analyst.value;
  json["run"] = entry.life.value;
  json["decided"] = entry.decided;
  json["expires"] = entry.expires;
  json["text"] = entry.text;
  json["evidence"] = Json::array();
  for (const auto& seen : verdict.evidence) json["evidence"].push_back(json_of(seen));
  json["probes"] = Json::object();
  for (const auto& finding : verdict.findings) json["probes"][cairn::localize::fact_name(finding.fact)] = finding.value;
  if (verdict.blocker) json["calls"] = cairn::json_of(*verdict.blocker);
  return json;
}

void print_json(const std::string& job, const HealthFile& health, const Watched& watched, bool one_line) {
  Json json{{"job", job}, {"run", health.life.value}, {"watch", watch_json(watched)}, {"verdicts", Json::array()}};
  for (const HealthEntry& entry : health.entries) json["verdicts"].push_back(json_of(entry));
  fmt::print("{}\n", cairn::json_text(json, one_line ? -1 : 1));
}

void print_text(const std::string& job, const HealthFile& health, const Watched& watched) {
  const std::string watch = watch_text(watched);
  if (health.entries.empty()) {
    fmt::print("job {}: {}{}\n", job, watched.now() ? "no node or rank is known to be sick; " : "", watch);
    return;
  }
  fmt::print("job {}: {}\n", job, watch);
  std::optional<cairn::Incarnation> life;
  for (const HealthEntry& entry : health.entries) {
    if (life != entry.life) fmt::print("job {}, run {}:\n", job, entry.life.value);
    life = entry.life;
    const auto decided = static_cast<std::time_t>(entry.decided);
    fmt::print("  {:%Y-%m-%d %H:%M:%S}  {}\n", fmt::localtime(decided), cairn::escaped_for_terminal(entry.text));
    for (const auto& seen : entry.verdict.evidence)
      fmt::print("    evidence: {}, {} times from node {}, worst {:.3g}{}\n", cairn::localize::name_of(seen.kind),
                 seen.count, seen.reporter.value, seen.worst,
                 seen.note.empty() ? "" : fmt::format(": \"{}\"", cairn::escaped_for_terminal(seen.note)));
    const std::string probes = probes_text(entry.verdict);
    if (!probes.empty()) fmt::print("    probes: {}\n", probes);
  }
}

Result<ExitCode> show(const HealthRequest& request, const OpenStores& opened) {
  const auto health = read_health(opened);
  if (!health) return cairn::fail(health.error());
  const auto watched = look_for_heads(request.target, opened);
  if (!watched) return cairn::fail(watched.error());
  if (request.json) {
    print_json(opened.job, *health, *watched, request.watch.has_value());
  } else {
    print_text(opened.job, *health, *watched);
  }
  std::fflush(stdout);
  if (!health->entries.empty()) return kDamage;
  return watched->now() ? kGood : kUnusable;
}

// A job that runs notices it, and forgets its verdicts.
Result<ExitCode> clear(const OpenStores& opened) {
  auto files = files_of_runs(opened);
  if (!files) return cairn::fail(files.error());
  files->push_back(cairn::names::health());
  bool removed = false;
  for (const cairn::FileName& name : *files) {
    const std::string file = opened.stores.path_of(cairn::StoreId::global(), name);
    std::error_code error;
    removed |= std::filesystem::remove(file, error);
    if (error) return cairn::fail_in_file(cairn::Code::io, file, "cannot be removed: " + error.message());
  }
  fmt::print("job {}: {}\n", opened.job, removed ? "its verdicts are forgotten" : "there were no verdicts");
  return kGood;
}

// "node:3", "rank:7", "host:c17"
Result<std::variant<cairn::NodeId, cairn::Rank, std::string>> whom_of(const std::string& text) {
  const auto colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const std::string name = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (kind == "host" && !name.empty()) return cairn::plain_text(name, cairn::kMostNoteBytes);
  std::uint32_t number = 0;
  const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool good = error == std::errc() && stop == name.data() + name.size();
  if (kind == "node" && good) return cairn::NodeId{number};
  if (kind == "rank" && good) return cairn::Rank{number};
  return cairn::fail(cairn::Code::invalid_argument, fmt::format("--report: '{}' names no node, rank or host", text),
                     "write node:N, rank:N or host:NAME");
}

// As far as the run says what is in it.
cairn::Status check_whom(const std::variant<cairn::NodeId, cairn::Rank, std::string>& whom, const std::string& job,
                         const Watched& watched) {
  if (!watched.now()) return {};
  const auto refuse = [&](std::string_view what, std::uint32_t number, std::uint32_t count) -> cairn::Status {
    if (number < count) return {};
    return cairn::fail(cairn::Code::invalid_argument, fmt::format("--report: there is no {} {}", what, number),
                       fmt::format("job {} has {}s 0 to {}", job, what, count - 1));
  };
  if (const auto* node = std::get_if<cairn::NodeId>(&whom)) return refuse("node", node->value, watched.last->heads);
  if (const auto* rank = std::get_if<cairn::Rank>(&whom)) return refuse("rank", rank->value, watched.last->ranks);
  return {};
}

// A job that looks for the file finds it whole.
cairn::Status write_whole(const std::string& file, const std::string& text) {
  const std::string begun = file + ".begun";
  std::ofstream out(begun, std::ios::binary);
  out << text;
  out.close();
  std::error_code error;
  if (out) std::filesystem::rename(begun, file, error);
  if (out && !error) return {};
  const std::error_code cause = error ? error : std::error_code(errno, std::generic_category());
  std::filesystem::remove(begun, error);
  return cairn::fail_in_file(cairn::Code::io, file, "cannot be written: " + cause.message());
}

// A head of the job looks for it every few seconds.
Result<ExitCode> report(const HealthRequest& request, const OpenStores& opened) {
  const auto whom = whom_of(request.report.front());
  if (!whom) return cairn::fail(whom.error());
  const auto watched = look_for_heads(request.target, opened);
  if (!watched) return cairn::fail(watched.error());
  if (auto status = check_whom(*whom, opened.job, *watched); !status) return cairn::fail(status.error());
  const cairn::SuspicionFile file{today(), *whom, cairn::plain_text(request.report.back(), cairn::kMostNoteBytes)};
  if (file.text.empty())
    return cairn::fail(cairn::Code::invalid_argument, "--report: the text is empty",
                       "say in a few words what seems to be wrong");
  const auto name = cairn::names::suspicion(cairn::drawn_number());
  const std::string path = opened.stores.path_of(cairn::StoreId::global(), name);
  const auto written = write_whole(path, to_json(file, opened.stores.sealer_at(cairn::StoreId::global())));
  if (!written) return cairn::fail(written.error());
  const std::string then = watched->now() ? "the job examines this within seconds"
                                          : "it is lost unless heads look within 10 minutes; " + watch_text(*watched);
  fmt::print("job {}: reported; {}\n", opened.job, then);
  return kGood;
}

}  // namespace

Result<ExitCode> health(const HealthRequest& request) {
  if (request.default_rules && !request.rules.empty()) {
    return cairn::fail(cairn::Code::invalid_argument, "health checks a file of rules, or prints the default ones",
                       "write --check-rules FILE, or --default-rules");
  }
  if (request.default_rules) {
    fmt::print("{}", cairn::localize::default_rules_text());
    return kGood;
  }
  if (!request.rules.empty()) return check_rules(request.rules);
  const auto opened = open_stores(request.target);
  if (!opened) return cairn::fail(opened.error());
  if (!opened->stores.global) return cairn::fail(opened->nothing("global store"));
  if (!request.report.empty()) return report(request, *opened);
  if (request.clear) return clear(*opened);
  auto code = show(request, *opened);
  while (request.watch && code) {
    std::this_thread::sleep_for(std::chrono::duration<double>(*request.watch));
    code = show(request, *opened);
  }
  return code;
}

}  // namespace ckpt_tool
