#include "engine/inventory.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include "engine/named_files.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

std::vector<HoldingSummary> summarise(const StoreContents& contents) {
  std::vector<HoldingSummary> summaries;
  for (const NodeManifest& manifest : contents.manifests) {
    for (const Holding& holding : manifest.holdings) {
      const std::uint64_t turn = holding.partner ? holding.partner->k % std::max(1U, holding.layout.rotation) : 0;
      summaries.push_back({manifest.identity, holding.layout.id(), holding.node, holding.own.has_value(),
                           holding.partner.has_value(), holding.erasure.has_value(), static_cast<std::uint32_t>(turn)});
    }
  }
  return summaries;
}

Buffer encode(const std::vector<HoldingSummary>& summaries) {
  ByteWriter out;
  for (const HoldingSummary& s : summaries) {
    out.put(s.snapshot.incarnation.value);
    out.put(s.snapshot.version.value);
    out.put(s.snapshot.run.value);
    out.put(s.layout.value);
    out.put(s.node.value);
    out.put(static_cast<std::uint32_t>(s.own | s.partner << 1U | s.erasure << 2U) | s.turn << 8U);
  }
  return out.take();
}

Result<std::vector<HoldingSummary>> decode_summaries(Bytes bytes) {
  ByteReader in(bytes);
  std::vector<HoldingSummary> summaries;
  while (in.good() && in.remaining() > 0) {
    HoldingSummary s;
    s.snapshot.incarnation.value = in.get<std::uint32_t>();
    s.snapshot.version.value = in.get<std::uint32_t>();
    s.snapshot.run.value = in.get<std::uint64_t>();
    s.layout.value = in.get<std::uint32_t>();
    s.node.value = in.get<std::uint32_t>();
    const auto flags = in.get<std::uint32_t>();
    s.own = (flags & 1U) != 0;
    s.partner = (flags & 2U) != 0;
    s.erasure = (flags & 4U) != 0;
    s.turn = flags >> 8U;
    summaries.push_back(s);
  }
  if (!in.good()) return fail(Code::communication, "an inventory summary is cut short");
  return summaries;
}

Status strike_missing(const Store& store, const DirName& dir, const NodeManifest& manifest, NodeId me,
                      std::vector<Strike>& strikes) {
  auto entries = store.list(dir);
  if (!entries) return fail(entries.error());
  std::map<std::string, std::uint64_t> there;
  for (const Entry& entry : *entries) there[dir.path + "/" + entry.name] = entry.size_bytes;
  for (const NamedFile& file : files_named(manifest)) {
    const auto found = there.find(file.name.path);
    if (found == there.end() || found->second != file.bytes()) strikes.push_back({me.value, file.name.path});
  }
  return {};
}

// Layouts that some head has not: each is sent by the first that has it.
Status share_layouts(Comm& heads, const StoreContents& mine, const Layout& known, Inventory& inventory) {
  inventory.layouts.emplace(known.id(), known);
  std::map<LayoutId, Peer> wanted;
  for (std::uint32_t head = 0; head < inventory.by_head.size(); ++head) {
    for (const HoldingSummary& summary : inventory.by_head[head]) wanted.emplace(summary.layout, Peer{head});
  }
  for (const auto& [id, holder] : wanted) {
    if (id == known.id()) continue;
    Buffer bytes;
    for (const NodeManifest& manifest : mine.manifests) {
      if (const Holding* holding = manifest.find(id)) bytes = cairn::encode(holding->layout);
    }
    auto sent = heads.broadcast(bytes, holder);
    if (!sent) return fail(sent.error());
    auto layout = decode_layout(*sent);
    if (!layout) return fail(layout.error());
    inventory.layouts.emplace(id, std::move(*layout));
  }
  return {};
}

}  // namespace

std::vector<Identity> Inventory::snapshots() const {
  std::set<Identity, std::greater<>> found(global.begin(), global.end());
  for (const auto& summaries : by_head) {
    for (const HoldingSummary& summary : summaries) found.insert(summary.snapshot);
  }
  return {found.begin(), found.end()};
}

LevelSet Inventory::complete_levels(const Identity& snapshot) const {
  LevelSet levels;
  for (const auto& [id, layout] : layouts) {
    std::set<NodeId> own;
    std::set<NodeId> partner;
    std::set<NodeId> erasure;
    for (const auto& summaries : by_head) {
      for (const HoldingSummary& summary : summaries) {
        if (summary.snapshot != snapshot || summary.layout != id) continue;
        if (summary.own) own.insert(summary.node);
        if (summary.partner) partner.insert(summary.node);
        if (summary.erasure) erasure.insert(summary.node);
      }
    }
    if (own.size() == layout.nodes) levels.add(LevelId::local);
    if (partner.size() == layout.nodes) levels.add(LevelId::partner);
    if (erasure.size() == layout.nodes) levels.add(LevelId::erasure);
  }
  if (std::ranges::find(global, snapshot) != global.end()) levels.add(LevelId::global);
  return levels;
}

Result<StoreContents> read_store(const Store& store, NodeId me, const Log& log) {
  StoreContents contents;
  auto entries = store.list(DirName{});
  if (!entries) return fail(entries.error());
  for (const Entry& entry : *entries) {
    const auto parsed = names::parse_snapshot(entry.name);
    if (!parsed || !entry.directory) continue;
    contents.highest_version = std::max(contents.highest_version, parsed->version);
    const DirName dir{entry.name};
    auto manifest = read_node_manifest(store, dir);
    if (!manifest) {
      if (manifest.error().code != Code::not_found) log.warning("{}: {}", store.where(), manifest.error().text());
      contents.orphans.push_back(dir);
      continue;
    }
    if (names::snapshot(manifest->identity.version, manifest->identity.run) != dir) {
      log.warning("{}: the manifest in {} is that of another snapshot", store.where(), dir.path);
      contents.orphans.push_back(dir);
      continue;
    }
    if (auto status = strike_missing(store, dir, *manifest, me, contents.strikes); !status) return fail(status.error());
    contents.manifests.push_back(std::move(*manifest));
  }
  return contents;
}

Result<Inventory> gather_inventory(Comm& heads, const StoreContents& mine, const Layout& known) {
  auto gathered = heads.allgather(encode(summarise(mine)));
  if (!gathered) return fail(gathered.error());
  Inventory inventory;
  for (const Buffer& bytes : *gathered) {
    auto summaries = decode_summaries(bytes);
    if (!summaries) return fail(summaries.error());
    inventory.by_head.push_back(std::move(*summaries));
  }
  if (auto status = share_layouts(heads, mine, known, inventory); !status) return fail(status.error());
  if (auto shared = share_strikes(heads, inventory, mine.strikes); !shared) return fail(shared.error());
  return inventory;
}

Result<bool> share_strikes(Comm& heads, Inventory& inventory, const std::vector<Strike>& mine) {
  ByteWriter out;
  for (const Strike& strike : mine) {
    out.put(strike.holder);
    out.put_text(strike.file);
  }
  auto gathered = heads.allgather(out.bytes());
  if (!gathered) return fail(gathered.error());
  bool news = false;
  for (const Buffer& bytes : *gathered) {
    ByteReader in(bytes);
    while (in.good() && in.remaining() > 0) {
      Strike strike;
      strike.holder = in.get<std::uint32_t>();
      strike.file = in.get_text();
      news |= inventory.strikes.insert(std::move(strike)).second;
    }
    if (!in.good()) return fail(Code::communication, "a list of struck files is cut short");
  }
  return news;
}

}  // namespace cairn
