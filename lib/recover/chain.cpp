#include "recover/chain.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "comm/share.hpp"
#include "format/json_file.hpp"
#include "recover/belonging.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

void put_runs(ByteWriter& out, const std::set<RunId>& runs) {
  out.put(static_cast<std::uint32_t>(runs.size()));
  for (const RunId run : runs) out.put(run.value);
}

std::set<RunId> get_runs(ByteReader& in) {
  std::set<RunId> runs;
  for (auto count = in.get<std::uint32_t>(); count > 0 && in.good(); --count)
    runs.insert(RunId{in.get<std::uint64_t>()});
  return runs;
}

void put_snapshots(ByteWriter& out, const std::vector<Identity>& snapshots) {
  out.put(static_cast<std::uint32_t>(snapshots.size()));
  for (const Identity& snapshot : snapshots) {
    out.put(snapshot.incarnation.value);
    out.put(snapshot.version.value);
    out.put(snapshot.run.value);
  }
}

// Stands before the sick nodes, where the snapshots of a level may stand.
constexpr LevelId kNoLevel{};

void put_choices(ByteWriter& out, const Chain& chain) {
  out.put(chain.chosen_at_start.version.value);
  out.put_text(chain.chosen_at_start.label);
  out.put(static_cast<std::uint32_t>(chain.starts.size()));
  for (const Incarnation start : chain.starts) out.put(start.value);
  std::vector<Identity> snapshots;
  for (const Branch::Fork& fork : chain.branch.forks()) snapshots.push_back(fork.choice.snapshot);
  put_snapshots(out, snapshots);
  for (const auto& [life, choice] : chain.branch.forks()) {
    out.put(life.value);
    out.put(choice.after.value);
    out.put(choice.at_start);
  }
  put_snapshots(out, {chain.branch.rejected().begin(), chain.branch.rejected().end()});
}

std::vector<Identity> get_snapshots(ByteReader& in) {
  std::vector<Identity> snapshots;
  for (auto count = in.get<std::uint32_t>(); count > 0 && in.good(); --count) {
    Identity& snapshot = snapshots.emplace_back();
    snapshot.incarnation.value = in.get<std::uint32_t>();
    snapshot.version.value = in.get<std::uint32_t>();
    snapshot.run.value = in.get<std::uint64_t>();
  }
  return snapshots;
}

Buffer encode(const Chain& chain) {
  ByteWriter out;
  out.put(chain.newest.value);
  out.put(chain.fresh_start.value);
  out.put(chain.finished);
  out.put(chain.has_snapshots);
  out.put(chain.highest_version.value);
  out.put(chain.next.value);
  out.put_text(chain.measured ? to_json(*chain.measured) : std::string());
  out.put(chain.costs_unknown);
  out.put_text(chain.mark ? to_json(*chain.mark) : std::string());
  out.put(chain.mark_unknown);
  out.put_text(chain.place);
  put_runs(out, chain.past);
  put_runs(out, chain.present);
  put_snapshots(out, chain.global);
  put_snapshots(out, {chain.pins.begin(), chain.pins.end()});
  put_choices(out, chain);
  for (const auto& [level, snapshots] : chain.elsewhere) {
    out.put(level);
    put_snapshots(out, snapshots);
  }
  if (!chain.sick.nodes.empty() || !chain.sick.hosts.empty()) {
    out.put(kNoLevel);
    out.put(static_cast<std::uint32_t>(chain.sick.nodes.size()));
    for (const NodeId node : chain.sick.nodes) out.put(node.value);
    out.put(static_cast<std::uint32_t>(chain.sick.hosts.size()));
    for (const std::string& host : chain.sick.hosts) out.put_text(host);
  }
  return out.take();
}

// False: nobody has put that.
bool get_choices(ByteReader& in, Chain& chain) {
  chain.chosen_at_start.version.value = in.get<std::uint32_t>();
  chain.chosen_at_start.label = in.get_text();
  for (auto count = in.get<std::uint32_t>(); count > 0 && in.good(); --count)
    chain.starts.push_back(Incarnation{in.get<std::uint32_t>()});
  const auto snapshots = get_snapshots(in);
  for (const Identity& snapshot : snapshots) {
    const Incarnation life{in.get<std::uint32_t>()};
    const Version after{in.get<std::uint32_t>()};
    chain.branch.take({life, {snapshot, after, in.get<bool>(), {}}});
  }
  for (const Identity& snapshot : get_snapshots(in)) chain.branch.reject(snapshot);
  return chain.branch.forks().size() == snapshots.size();
}

std::vector<NodeId> get_nodes_of_message(ByteReader& in) {
  std::vector<NodeId> nodes;
  for (auto count = in.get<std::uint32_t>(); count > 0 && in.good(); --count)
    nodes.push_back(NodeId{in.get<std::uint32_t>()});
  return nodes;
}

// An empty text means that the value was not known. False: the text cannot be read, and the whole message is refused.
template <class T>
bool read_known(const std::string& text, Result<T> (*parse)(const std::string&, const Sealer&),
                std::optional<T>& into) {
  if (text.empty()) return true;
  auto parsed = parse(text, {});
  if (parsed) into = std::move(*parsed);
  return parsed.has_value();
}

Result<Chain> decode_chain(Bytes bytes, LevelSet levels) {
  ByteReader in(bytes);
  Chain chain;
  chain.newest.value = in.get<std::uint32_t>();
  chain.fresh_start.value = in.get<std::uint32_t>();
  chain.finished = in.get<bool>();
  chain.has_snapshots = in.get<bool>();
  chain.highest_version.value = in.get<std::uint32_t>();
  chain.next.value = in.get<std::uint64_t>();
  bool good = read_known(in.get_text(), parse_job_costs, chain.measured);
  chain.costs_unknown = in.get<bool>();
  good = read_known(in.get_text(), parse_chain_mark, chain.mark) && good;
  chain.mark_unknown = in.get<bool>();
  chain.place = in.get_text();
  chain.past = get_runs(in);
  chain.present = get_runs(in);
  chain.global = get_snapshots(in);
  const auto pins = get_snapshots(in);
  chain.pins.insert(pins.begin(), pins.end());
  good = get_choices(in, chain) && good;
  while (in.good() && in.remaining() > 0) {
    const auto level = in.get<std::underlying_type_t<LevelId>>();
    if (level == static_cast<std::underlying_type_t<LevelId>>(kNoLevel)) {
      good = good && chain.sick.nodes.empty() && chain.sick.hosts.empty();
      chain.sick.nodes = get_nodes_of_message(in);
      for (auto count = in.get<std::uint32_t>(); count > 0 && in.good(); --count)
        chain.sick.hosts.push_back(in.get_text());
      continue;
    }
    auto snapshots = get_snapshots(in);
    const bool known = level <= kMostLevels && levels.has(static_cast<LevelId>(level));
    good = good && known && chain.elsewhere.emplace(static_cast<LevelId>(level), std::move(snapshots)).second;
  }
  if (!in.good() || in.remaining() != 0 || !good)
    return fail_internal(Code::communication, "the message from head 0 about the chain of snapshots is damaged");
  return chain;
}

// A life by its record; none: it cannot be read.
struct Life {
  names::RunRecordName name;
  std::optional<RunRecord> record;
};

// `lives`: by incarnation, oldest first. A life that never decided which snapshot to restore changed nothing. If a
// record cannot be read, the worst is assumed: that there are snapshots to lose.
void follow(Chain& chain, const std::vector<Life>& lives) {
  for (const auto& [name, record] : lives) {
    if (!record) {
      chain.has_snapshots = true;
      chain.finished = false;
      continue;
    }
    if (record->parent == RunRecord::Parent::undecided) continue;
    if (record->parent == RunRecord::Parent::fresh) {
      chain.fresh_start = record->incarnation;
      chain.starts.push_back(record->incarnation);
      chain.has_snapshots = false;
    }
    for (const Choice& choice : record->choices) chain.choose(record->incarnation, choice);
    for (const Identity& snapshot : record->rejected) chain.branch.reject(snapshot);
    chain.has_snapshots |= record->snapshots;
    chain.finished = record->finished;
  }
  for (const Life& life : lives) {
    (life.name.incarnation < chain.fresh_start ? chain.past : chain.present).insert(life.name.run);
  }
}

Result<Identity> identity_of(const Store& global, const names::SnapshotDir& dir,
                             const std::map<RunId, Incarnation>& lives, const Sealer& sealer) {
  const DirName place = names::directory_of(dir);
  const auto life = lives.find(dir.run);
  if (life != lives.end() && !sealer.has_key() && says_known_format(global, names::manifest(place)))
    return Identity{life->second, dir.version, dir.run};
  auto manifest = read_global_manifest(global, place, sealer);
  // Its removal was begun: it is kept in the list, so that the removal continues.
  if (!manifest && manifest.error().code == Code::not_found && life != lives.end())
    return Identity{life->second, dir.version, dir.run};
  if (!manifest) return fail(manifest.error());
  return manifest->identity;
}

// If the file is missing or damaged, the job measures again and writes a new one.
void read_measured(const Store& global, const Log& log, const Sealer& sealer, Chain& chain) {
  const FileName name = names::costs();
  auto text = read_text(global, name, kMostRecordBytes);
  auto measured = text ? parse_job_costs(*text, sealer) : Result<JobCosts>(fail(text.error()));
  if (measured) {
    chain.measured = *measured;
  } else if (measured.error().code != Code::not_found) {
    log.warning("{}: {}: {}", global.where(), name.path, measured.error().text());
    chain.costs_unknown = measured.error().code != Code::corrupt;
  }
}

// A damaged mark is written again, like a missing one.
void note_unread_mark(const Error& error, Chain& chain) {
  if (is_others(error.code))
    chain.unreadable.push_back(unreadable_mark(error));
  else
    chain.mark_unknown = error.code != Code::not_found && error.code != Code::corrupt;
}

// What is not known to be unpinned stays.
void read_all_pins(const Store& global, const Log& log, const Sealer& sealer, Chain& chain) {
  auto pins = read_pins(global, sealer);
  if (pins) {
    chain.pins = std::move(*pins);
    return;
  }
  log.warning("{}: {}; all snapshots there are kept", global.where(), pins.error().text());
  chain.pins = {chain.global.begin(), chain.global.end()};
}

std::vector<Life> read_lives(const Store& global, const std::vector<Entry>& entries, const Log& log,
                             const Sealer& sealer, Chain& chain) {
  std::map<std::pair<Incarnation, RunId>, FileName> files;
  for (const Entry& entry : entries)
    if (const auto name = names::parse_run_record(entry.name))
      files.emplace(std::pair(name->incarnation, name->run), FileName{entry.name});
  std::vector<Life> lives;
  for (const auto& [life, file] : files) {
    const names::RunRecordName name{life.first, life.second};
    chain.newest = std::max(chain.newest, name.incarnation);
    auto record = read_run_record(global, file, sealer);
    if (record) {
      lives.push_back({name, std::move(*record)});
      continue;
    }
    log.warning("{}: {}", global.where(), record.error().text());
    lives.push_back({name, {}});
    chain.unreadable.push_back({file, {}, {}, name.run, record.error()});
  }
  return lives;
}

}  // namespace

Result<Chain> read_chain(const Store& global, const Log& log, const Sealer& job_sealer, std::optional<RunId> known) {
  auto entries = global.list(DirName{});
  if (!entries) return fail(entries.error());
  Chain chain;
  const auto mark = read_chain_mark(global, *entries, log, job_sealer);
  if (mark)
    chain.mark = *mark;
  else
    note_unread_mark(mark.error(), chain);
  const Sealer sealer = !mark && known ? job_sealer.of_chain(*known) : sealer_of(mark, job_sealer);
  chain.place = global.where();
  read_measured(global, log, sealer, chain);
  const std::vector<Life> lives = read_lives(global, *entries, log, sealer, chain);
  follow(chain, lives);
  std::map<RunId, Incarnation> incarnations;
  for (const Life& life : lives) incarnations[life.name.run] = life.name.incarnation;
  for (const names::SnapshotDir& dir : names::snapshots_in(*entries)) {
    chain.highest_version = std::max(chain.highest_version, dir.version);
    if (dir.partial) continue;
    auto identity = identity_of(global, dir, incarnations, sealer);
    if (identity) {
      chain.global.push_back(*identity);
      continue;
    }
    log.warning("{}: {}", global.where(), identity.error().text());
    if (identity.error().code == Code::not_found) continue;
    const DirName place = names::directory_of(dir);
    chain.unreadable.push_back({names::manifest(place), place, dir.version, dir.run, identity.error()});
  }
  read_all_pins(global, log, sealer, chain);
  return chain;
}

Status list_other_stores(const NodeContext& node, const Sealer& job_sealer, Chain& chain, std::optional<RunId> known) {
  if (chain.mark) known = chain.mark->id;
  const Sealer sealer = known ? job_sealer.of_chain(*known) : job_sealer;
  const LevelSet elsewhere = node.levels.in_shared_stores() - node.levels.in_global_store();
  for (const LevelId level : elsewhere) {
    const auto store = node.levels.at(level).store(node);
    auto entries = store->list(DirName{});
    if (!entries) return fail(entries.error());
    for (const names::SnapshotDir& dir : names::snapshots_in(*entries)) {
      if (dir.partial) continue;
      chain.highest_version = std::max(chain.highest_version, dir.version);
      const auto there = node.levels.at(level).look_at(*store, names::directory_of(dir), sealer);
      if (there) {
        chain.elsewhere[level].push_back((*there)->identity());
      } else if (there.error().code != Code::not_found) {
        node.log.warning("{}: {}", store->where(), there.error().text());
        chain.has_snapshots = true;
      }
    }
  }
  return {};
}

SharedSnapshots Chain::shared(const Levels& levels) const {
  SharedSnapshots all = elsewhere;
  for (const LevelId level : levels.in_global_store()) all[level] = global;
  return all;
}

void Chain::choose(Incarnation life, const Choice& choice) {
  branch.take({life, choice});
  if (choice.at_start) chosen_at_start = {choice.snapshot.version, choice.label};
  fresh_start = {};
  for (const Incarnation start : starts) {
    if (start <= choice.snapshot.incarnation) fresh_start = start;
  }
  finished = false;
}

void Chain::remember(const Levels& levels, LevelId level, const Identity& snapshot) {
  std::vector<Identity>& known = levels.in_global_store().has(level) ? global : elsewhere[level];
  if (std::ranges::find(known, snapshot) == known.end()) known.push_back(snapshot);
}

void Chain::forget(const Levels& levels, LevelId level, const Identity& snapshot) {
  std::erase(levels.in_global_store().has(level) ? global : elsewhere[level], snapshot);
}

Result<Chain> share_chain(Comm& heads, const Result<Chain>& mine, LevelSet elsewhere) {
  auto bytes = share(heads, mine.map([](const Chain& chain) { return encode(chain); }), Peer{0}, "node");
  if (!bytes) return fail(bytes.error());
  return decode_chain(*bytes, elsewhere);
}

Result<RunRecord> read_run_record(const Store& global, const FileName& name, const Sealer& sealer) {
  auto text = read_text(global, name, kMostRecordBytes);
  if (!text) return fail(text.error());
  auto record = parse_run_record(*text, sealer);
  if (!record) return fail(record.error().in_file(name.path));
  const FileName right = names::run_record(record->incarnation, record->run);
  if (right != name) return fail(Code::corrupt, name.path + ": its contents belong to " + right.path);
  return record;
}

Status write_run_record(Store& global, const RunRecord& record, const Sealer& sealer) {
  return write_text(global, names::run_record(record.incarnation, record.run), to_json(record, sealer));
}

}  // namespace cairn
