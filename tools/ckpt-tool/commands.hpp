// What ckpt-tool can be asked to do. Each command prints to stdout and answers with the exit code.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "inspect/survey.hpp"
#include "model/simulation.hpp"
#include "scenario.hpp"
#include "stores.hpp"

namespace ckpt_tool {

enum ExitCode : int {
  kGood = 0,
  kDamage = 1,    // something is damaged, or missing though a manifest names it
  kUnusable = 2,  // wrong arguments, nothing there, of a newer format, with another seal, or reading it failed
};

struct Request {
  Target target;
  std::optional<std::uint32_t> version;  // of inspect and verify
  bool json = false;
  bool details = false;  // of inspect: each rank, node and file
  bool quiet = false;    // of verify: only what is not good, and the summary
};

struct SimulateOptions {
  ScenarioOptions scenario;
  std::string work = "24h";
  std::vector<std::string> intervals;  // of work between snapshots at each level, or "off"; empty: the best ones
  std::string survives = "process";    // as [replay] survives
  std::vector<std::uint32_t> helpers{2, 5};
  cairn::model::SimulationOptions simulation;
  bool json = false;
  std::string plot;   // SVG file; empty: none
  std::string paper;  // whose published table to compare with; then of the rest only `simulation` counts
};

[[nodiscard]] cairn::Result<ExitCode> list(const Request& request);
// Of several jobs: a line for each.
[[nodiscard]] ExitCode list_jobs(const Places& places, const std::set<std::string>& jobs, bool json);
[[nodiscard]] cairn::Result<ExitCode> inspect(const Request& request);
[[nodiscard]] cairn::Result<ExitCode> verify(const Request& request);
[[nodiscard]] cairn::Result<ExitCode> plan(const ScenarioOptions& options);

struct RanksRequest {
  Target target;
  std::optional<std::uint32_t> ranks;  // of `plan`; none: it computes intervals
};
// kDamage: no snapshot can be restored on so many ranks. Requires: `ranks`.
[[nodiscard]] cairn::Result<ExitCode> plan_ranks(const RanksRequest& request);
[[nodiscard]] cairn::Result<ExitCode> simulate(const SimulateOptions& options);
[[nodiscard]] cairn::Result<ExitCode> simulate_paper(const cairn::model::SimulationOptions& simulation);

struct ExportRequest {
  Target target;
  std::string version;                // a number, a label, or "newest"
  std::vector<std::string> regions;   // empty: all
  std::string to;                     // FILE.h5, FILE.npy, or a directory of .npy files
  std::optional<std::uint32_t> rank;  // only this one's; none: arrays of all ranks
  bool partial = false;               // without ranks that have no source
};
// kDamage: ranks were left out.
[[nodiscard]] cairn::Result<ExitCode> export_regions(const ExportRequest& request);

struct PinRequest {
  Target target;
  std::string version;  // a number, a label, or "newest"
};
[[nodiscard]] cairn::Result<ExitCode> pin_version(const PinRequest& request);
[[nodiscard]] cairn::Result<ExitCode> unpin_version(const PinRequest& request);

struct CopyRequest {
  Target target;
  std::string version;  // a number, a label, or "newest"
  std::string to;       // as [storage] global
  bool json = false;
  bool yes = false;  // else only shows what would be written
};
[[nodiscard]] cairn::Result<ExitCode> copy_version(const CopyRequest& request);

struct RebuildRequest {
  Target target;
  std::string version;  // a number, a label, or "newest"; empty: all
  bool json = false;
  bool yes = false;  // else only shows what would be written
};
// kDamage: something cannot be rebuilt.
[[nodiscard]] cairn::Result<ExitCode> rebuild_versions(const RebuildRequest& request);

struct RemovalRequest {
  Target target;
  bool json = false;
  bool yes = false;                     // else only shows what would go
  bool force = false;                   // also the last recoverable snapshot
  std::vector<std::uint32_t> versions;  // of delete
  std::uint32_t keep = 0;               // of prune
};
[[nodiscard]] cairn::Result<ExitCode> delete_versions(const RemovalRequest& request);
// kDamage: snapshots stay because a manifest of theirs cannot be judged.
[[nodiscard]] cairn::Result<ExitCode> prune(const RemovalRequest& request);

struct TraceRequest {
  std::vector<std::string> inputs;  // files, or [log] trace as it was set
  std::string output;               // empty: only the table
};
[[nodiscard]] cairn::Result<ExitCode> trace(const TraceRequest& request);

struct HangRequest {
  Target target;
  bool json = false;
  bool stacks = false;          // of the culprits on this host
  std::string after = "10s";    // a rank may wait for another for so long
  std::optional<double> watch;  // seconds between looks; none: one look
};
// kGood: healthy, kDamage: it hangs or may do so, kUnusable: also when all processes are gone.
[[nodiscard]] cairn::Result<ExitCode> hang(const HangRequest& request);

struct HealthRequest {
  Target target;
  bool json = false;
  bool clear = false;               // forget the verdicts
  std::optional<double> watch;      // seconds between looks; none: one look
  std::string rules;                // a file of rules to check, and nothing else
  bool default_rules = false;       // print them, and nothing else
  std::vector<std::string> report;  // WHOM TEXT: reports it to the job, and nothing else
};
// kDamage: something is sick, or the rules have mistakes.
[[nodiscard]] cairn::Result<ExitCode> health(const HealthRequest& request);

// What several commands print in the same way.
using Json = nlohmann::ordered_json;
void put_identity(Json& to, const cairn::Identity& identity);
[[nodiscard]] std::string identity_text(const cairn::Identity& identity);
// "L1 L2 L3 (3/4 nodes)", and the same in JSON: whether each is complete.
[[nodiscard]] std::string levels_text(const cairn::SnapshotView& snapshot);
[[nodiscard]] Json levels_json(const cairn::SnapshotView& snapshot);
// Adds `label`, null where there is none, `attributes` and, by region, `region_attributes`.
void put_notes_json(Json& to, const cairn::SnapshotNotes& notes);
[[nodiscard]] Json numbers(const std::vector<cairn::Rank>& ranks);
[[nodiscard]] std::string_view state_text(cairn::Finding::State state);
// Whether it is not known if such a file is good.
[[nodiscard]] bool is_unknown(cairn::Finding::State state);
// "node 3: … " or "<path> (rank 3, L2): …"
[[nodiscard]] std::string finding_text(const cairn::Finding& finding);
// The exit code with this finding taken in.
[[nodiscard]] ExitCode worse(ExitCode code, const cairn::Finding& finding);
// "v00000015-0123456789abcdef: no manifest in <store>, …", for people; and the same in JSON.
[[nodiscard]] std::string ignored_text(const OpenStores& opened, const cairn::Ignored& ignored);
[[nodiscard]] Json ignored_json(const OpenStores& opened, const std::vector<cairn::Ignored>& all);
// An error that says that there are no snapshots, and which directories are ignored.
[[nodiscard]] cairn::Error no_snapshots(const OpenStores& opened, const std::vector<cairn::Ignored>& ignored);
// An error that says there is no such version, and which there are.
[[nodiscard]] cairn::Error no_such_version(const OpenStores& opened, std::uint32_t version,
                                           const cairn::Survey& survey);
// `version`: a number, or "newest", which is the newest that all ranks can be read of. Complains about what makes newer
// ones no choice.
[[nodiscard]] cairn::Result<cairn::SnapshotView> find_snapshot(const OpenStores& opened, const cairn::Survey& survey,
                                                               const std::string& version);
// "3 ranks from L1, 1 rank from L3"
[[nodiscard]] std::string sources_text(const std::map<cairn::LevelId, std::vector<cairn::Rank>>& sources);
// One line on stderr.
void complain(const std::string& line);

}  // namespace ckpt_tool
