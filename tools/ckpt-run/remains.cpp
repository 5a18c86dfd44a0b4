#include "remains.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/text_file.hpp"
#include "ended_run.hpp"
#include "engine/health_keeper.hpp"
#include "engine/symptom_spool.hpp"
#include "facts.hpp"
#include "localize/messages.hpp"
#include "localize/post_mortem.hpp"
#include "localize/words.hpp"
#include "store/names.hpp"

namespace ckpt_run {
namespace {

namespace localize = cairn::localize;
using cairn::NodeId;
using localize::Probe;
using localize::ProbeFact;

// Codes of the commands, which no shell ends with by itself.
constexpr int kNoFile = 93;
constexpr int kNotOurs = 94;
constexpr int kUnreadable = 95;

std::string quoted(const std::string& text) {
  std::string all = "'";
  for (const char c : text) c == '\'' ? all += "'\\''" : all += c;
  return all + "'";
}

struct NodeStore {
  std::uint32_t node = 0;
  std::string host;
  std::string directory;  // of the job, on that host
};

std::vector<NodeStore> stores_of(const cairn::Config& config, const Placement& placement) {
  std::vector<NodeStore> stores;
  for (const HostRanks& host : placement.hosts) {
    for (const std::uint32_t node : host.nodes) {
      const std::string root = config.storage.local +
                               (placement.simulated ? "/" + cairn::names::node_directory(NodeId{node}) : std::string());
      stores.push_back({node, host.host, root + "/" + config.job.name});
    }
  }
  return stores;
}

// A link, and a file of somebody else, is not read.
std::string read_command(const NodeStore& store) {
  return fmt::format(
      "f={}; test -e \"$f\" || exit {}; test -f \"$f\" && test ! -h \"$f\" && test -O \"$f\" || exit {}; head -c {} "
      "\"$f\" || exit {}",
      quoted(store.directory + "/" + cairn::names::symptoms().path), kNoFile, kNotOurs, kMostAnswerBytes, kUnreadable);
}

// Prints 0 if a file can be written, and the bytes that are in use and free.
std::string probe_command(const NodeStore& store) {
  return fmt::format(
      "d={}; f=$(mktemp -p \"$d\" probe.XXXXXX) && echo x >\"$f\" && sync \"$f\"; echo $?; rm -f \"$f\"; df -B1 "
      "--output=used,avail \"$d\" | tail -n 1",
      quoted(store.directory));
}

std::optional<std::string> why_unread(const Ending& ending) {
  if (ending.code == 0 || ending.code == kNoFile) return std::nullopt;
  if (ending.code == kNotOurs) return "it is not a plain file of this user";
  if (ending.code == kUnreadable) return "its host cannot read it";
  return fmt::format("its host has not answered (code {})", ending.code);
}

using StoreFacts = std::vector<std::pair<ProbeFact, double>>;

StoreFacts facts_in(const std::string& answer) {
  std::istringstream in(answer);
  int failed = 0;
  double used = 0;
  double available = 0;
  if (!(in >> failed)) return {};
  const bool room_known = in >> used >> available && used >= 0 && available >= 0;
  const bool full = room_known && available == 0;
  StoreFacts facts{{ProbeFact::state_store_operations, 1},
                   {ProbeFact::state_store_failed, failed != 0 && !full ? 1 : 0},
                   {ProbeFact::state_store_errors, failed != 0 && !full ? 1 : 0},
                   {ProbeFact::state_store_refused, failed != 0 && full ? 1 : 0}};
  if (room_known) facts.emplace_back(ProbeFact::state_store_free, available);
  if (room_known && used + available > 0) facts.emplace_back(ProbeFact::state_store_used, used / (used + available));
  return facts;
}

std::shared_ptr<const localize::RuleSet> rules_of(const cairn::Config& config) {
  localize::RuleBook book;
  const std::string& file = config.localize.rules;
  const auto text =
      file.empty() ? cairn::fail(cairn::Code::not_found, "") : cairn::read_text_file(file, cairn::Code::config);
  // A mistake there is one of the job's start, and has been told.
  if (text) (void)book.renew(*text);
  return book.rules();
}

class Examination {
 public:
  Examination(const cairn::Config& config, const EndedRun& run, std::vector<NodeStore> stores, const OnHosts& on_hosts)
      : config_(config), run_(run), stores_(std::move(stores)), on_hosts_(on_hosts) {}

  [[nodiscard]] std::vector<localize::Observation> collect(std::uint64_t today, Remains& remains) const {
    std::vector<HostCommand> commands;
    for (const NodeStore& store : stores_) commands.push_back({store.host, read_command(store)});
    const auto endings = on_hosts_(commands);
    std::vector<localize::Observation> symptoms;
    for (std::size_t i = 0; i < stores_.size(); ++i) {
      const auto unread = [&](const std::string& why) {
        remains.unread.push_back({stores_[i].node, stores_[i].host, why});
      };
      if (const auto why = why_unread(endings[i])) {
        unread(*why);
      } else if (endings[i].code == 0) {
        auto file = parse_symptom_file(endings[i].out, run_.sealer);
        if (!file) {
          unread(file.error().message);
          continue;
        }
        name_hosts(*file);
        auto taken = aged_symptoms(*file, run_.topology, today);
        // Whether the node itself is down, ckpt-run has asked its host.
        std::erase_if(taken, [](const auto& seen) { return seen.kind == cairn::SymptomKind::process_failed; });
        symptoms.insert(symptoms.end(), taken.begin(), taken.end());
      }
    }
    return symptoms;
  }

  // Of the probes that heads answer, only this one can be made when there are none.
  [[nodiscard]] StoreFacts probe(Probe probe, const cairn::Suspect& suspect) const {
    const auto store = std::ranges::find(stores_, suspect.node.value, &NodeStore::node);
    if (probe != Probe::state || store == stores_.end()) return {};
    const auto ending = on_hosts_({{store->host, probe_command(*store)}}).front();
    return ending.code == 0 ? facts_in(ending.out) : StoreFacts{};
  }

  [[nodiscard]] std::vector<localize::Verdict> analyse(const std::vector<localize::Observation>& symptoms) const {
    localize::PostMortem how{
        rules_of(config_), config_.localize.window, static_cast<double>(config_.localize.threshold), {}};
    how.probe = [this](Probe asked, const cairn::Suspect& suspect) { return probe(asked, suspect); };
    return localize::analyse(symptoms, how);
  }

 private:
  // As ckpt-run names hosts: heads may know a host by another name.
  void name_hosts(cairn::SymptomFile& file) const {
    const auto hosts = run_.topology.hosts();
    const bool one = std::ranges::all_of(hosts, [&](const std::string& host) { return host == hosts.front(); });
    for (cairn::SpooledSymptom& symptom : file.symptoms) {
      const auto is_it = [&](const std::string& host) { return one || same_host(host, symptom.host); };
      if (const auto found = std::ranges::find_if(hosts, is_it); found != hosts.end()) symptom.host = *found;
    }
  }

  const cairn::Config& config_;
  const EndedRun& run_;
  std::vector<NodeStore> stores_;  // of hosts that answer
  const OnHosts& on_hosts_;
};

}  // namespace

cairn::Result<Remains> examine_remains(const cairn::Config& config, const Placement& placement,
                                       const std::vector<std::string>& lost, std::chrono::seconds today,
                                       const OnHosts& on_hosts) {
  const auto run = EndedRun::find(config, placement);
  if (!run) return cairn::fail(run.error());
  if (!*run) return Remains{};
  const EndedRun& ended = **run;
  auto stores = stores_of(config, placement);
  std::erase_if(stores, [&](const NodeStore& one) { return std::ranges::find(lost, one.host) != lost.end(); });
  const Examination examination(config, ended, std::move(stores), on_hosts);
  cairn::HealthKeeper keeper(ended.global, ended.topology, ended.life, ended.sealer, cairn::Log());
  keeper.resume();
  Remains remains;
  for (const cairn::HealthEntry& entry : keeper.standing()) {
    const auto& [fault, suspect] = std::tie(entry.verdict.fault, entry.verdict.suspect);
    if (fault == localize::Fault::process_dead && suspect.rank) remains.dead_ranks.push_back(suspect.rank->value);
  }
  std::ranges::sort(remains.dead_ranks);
  const auto symptoms = examination.collect(static_cast<std::uint64_t>(today.count()), remains);
  const auto verdicts = examination.analyse(symptoms);
  if (verdicts.empty()) return remains;

  const localize::Setting setting{ended.topology.hosts(), today};
  for (const localize::Verdict& verdict : verdicts) {
    remains.verdicts.push_back(ended_text(verdict, setting));
    keeper.put(verdict, remains.verdicts.back(), today);
  }
  if (const auto status = keeper.write(today); !status) return cairn::fail(status.error());
  return remains;
}

std::string unread_text(const Remains::Unread& unread) {
  return fmt::format("the symptoms that node {} (host {}) has kept cannot be read: {}", unread.node, unread.host,
                     unread.why);
}

}  // namespace ckpt_run
