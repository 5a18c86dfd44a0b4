#include "engine/chain.hpp"

#include <algorithm>
#include <map>

#include "comm/share.hpp"
#include "level/global_level.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

Buffer encode(const Chain& chain) {
  ByteWriter out;
  out.put(chain.newest.value);
  out.put(chain.fresh_start.value);
  out.put(chain.finished);
  out.put(chain.has_snapshots);
  out.put(chain.highest_version.value);
  out.put(chain.next.value);
  out.put_text(chain.measured ? to_json(*chain.measured) : std::string());
  for (const Identity& snapshot : chain.global) {
    out.put(snapshot.incarnation.value);
    out.put(snapshot.version.value);
    out.put(snapshot.run.value);
  }
  return out.take();
}

Chain decode_chain(Bytes bytes) {
  ByteReader in(bytes);
  Chain chain;
  chain.newest.value = in.get<std::uint32_t>();
  chain.fresh_start.value = in.get<std::uint32_t>();
  chain.finished = in.get<bool>();
  chain.has_snapshots = in.get<bool>();
  chain.highest_version.value = in.get<std::uint32_t>();
  chain.next.value = in.get<std::uint64_t>();
  if (auto measured = parse_measured(in.get_text())) chain.measured = *measured;
  while (in.good() && in.remaining() > 0) {
    Identity& snapshot = chain.global.emplace_back();
    snapshot.incarnation.value = in.get<std::uint32_t>();
    snapshot.version.value = in.get<std::uint32_t>();
    snapshot.run.value = in.get<std::uint64_t>();
  }
  return chain;
}

// By incarnation, oldest first. A life that never decided what it went on from changed nothing.
void follow(Chain& chain, const std::vector<RunRecord>& records) {
  for (const RunRecord& record : records) {
    if (record.parent == RunRecord::Parent::fresh) {
      chain.fresh_start = record.incarnation;
      chain.has_snapshots = false;
    }
    if (record.parent == RunRecord::Parent::undecided) continue;
    chain.has_snapshots |= record.snapshots;
    chain.finished = record.finished;
  }
}

Result<Identity> identity_of(const Store& global, const names::SnapshotDir& dir,
                             const std::map<RunId, Incarnation>& lives) {
  if (const auto it = lives.find(dir.run); it != lives.end()) return Identity{it->second, dir.version, dir.run};
  auto manifest = read_global_manifest(global, names::snapshot(dir.version, dir.run));
  if (!manifest) return fail(manifest.error());
  return manifest->identity;
}

// Not there, or of no use: the job measures again.
std::optional<Measured> read_measured(const Store& global, const Log& log) {
  const FileName name = names::costs();
  auto text = read_text(global, name);
  if (!text) return {};
  auto measured = parse_measured(*text);
  if (measured) return *measured;
  log.warning("{}: {}: {}", global.where(), name.path, measured.error().text());
  return {};
}

}  // namespace

Result<Chain> read_chain(const Store& global, const Log& log) {
  auto entries = global.list(DirName{});
  if (!entries) return fail(entries.error());
  Chain chain;
  std::vector<RunRecord> records;
  std::map<RunId, Incarnation> lives;
  chain.measured = read_measured(global, log);
  for (const Entry& entry : *entries) {
    const auto name = names::parse_run_record(entry.name);
    if (!name) continue;
    chain.newest = std::max(chain.newest, name->incarnation);
    lives[name->run] = name->incarnation;
    auto text = read_text(global, FileName{entry.name});
    auto record = text ? parse_run_record(*text) : Result<RunRecord>(fail(text.error()));
    if (record)
      records.push_back(*record);
    else
      log.warning("{}: {}: {}", global.where(), entry.name, record.error().text());
  }
  std::ranges::sort(records, {}, [](const RunRecord& record) { return std::pair(record.incarnation, record.run); });
  follow(chain, records);
  for (const Entry& entry : *entries) {
    const auto dir = names::parse_snapshot(entry.name);
    if (!dir || !entry.directory) continue;
    chain.highest_version = std::max(chain.highest_version, dir->version);
    if (dir->partial) continue;
    auto identity = identity_of(global, *dir, lives);
    if (identity)
      chain.global.push_back(*identity);
    else
      log.warning("{}: {}", global.where(), identity.error().text());
  }
  return chain;
}

Result<Chain> share_chain(Comm& heads, const Result<Chain>& mine) {
  auto bytes = share(heads, mine.map([](const Chain& chain) { return encode(chain); }), Peer{0}, "node");
  if (!bytes) return fail(bytes.error());
  return decode_chain(*bytes);
}

Status write_run_record(Store& global, const RunRecord& record) {
  return write_text(global, names::run_record(record.incarnation, record.run), to_json(record));
}

}  // namespace cairn
