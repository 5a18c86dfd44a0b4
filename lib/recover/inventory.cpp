#include "recover/inventory.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "recover/belonging.hpp"
#include "recover/inventory_codec.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

using FileSizes = std::map<std::string, std::uint64_t>;  // by path

Result<FileSizes> files_in(const Store& store, const DirName& dir) {
  auto entries = store.list(dir);
  if (!entries) return fail(entries.error());
  FileSizes there;
  for (const Entry& entry : *entries) there[dir.path + "/" + entry.name] = entry.size_bytes;
  return there;
}

void strike_missing(const FileSizes& there, const std::vector<NamedFile>& files, NodeId me,
                    std::vector<Strike>& strikes) {
  for (const NamedFile& file : files) {
    const auto found = there.find(file.name.path);
    if (found == there.end() || found->second != file.bytes())
      strikes.push_back({StoreId::node(me.value), file.name.path});
  }
}

void note_unnamed(const FileSizes& there, const DirName& dir, const std::vector<NamedFile>& files,
                  std::vector<FileName>& unnamed) {
  std::set<std::string> named;
  for (const NamedFile& file : files) named.insert(file.name.path);
  for (const auto& [path, bytes] : there) {
    const std::string name = path.substr(dir.path.size() + 1);
    if (!names::parse_copy(name) && !names::parse_parity(name)) continue;
    if (!named.contains(path)) unnamed.push_back(FileName{path});
  }
}

// The manifest of a directory, from memory or else from the store; not_found: there is none.
Result<NodeManifest> manifest_of(const Store& store, const DirName& dir, const FileSizes& there, const Log& log,
                                 StoreMemory& memory, const Sealer& sealer) {
  const auto file = there.find(names::manifest(dir).path);
  if (file == there.end()) return fail(Code::not_found, names::manifest(dir).path + ": does not exist");
  if (const NodeManifest* remembered = memory.recall(store, dir, file->second)) return *remembered;
  auto manifest = read_node_manifest(store, dir, sealer);
  if (!manifest) {
    log.warning("{}: {}", store.where(), manifest.error().text());
    return manifest;
  }
  memory.remember(store, dir, *manifest, file->second);
  return std::move(*manifest);
}

// The longest list of all: the one that is most likely to have what others have.
Result<HoldingList> share_dictionary(Comm& heads, const HoldingList& mine) {
  const std::uint64_t backwards = ~heads.rank().value;  // of equally long lists the first head's
  std::uint64_t longest = static_cast<std::uint64_t>(mine.size()) << 32U | backwards;
  if (auto status = heads.allreduce({&longest, 1}, Reduce::max); !status) return fail(status.error());
  if (longest >> 32U == 0) return HoldingList{};
  const Peer holder{~static_cast<std::uint32_t>(longest)};
  auto sent = heads.broadcast(heads.rank() == holder ? encode_holdings(mine) : Buffer{}, holder);
  if (!sent) return fail(sent.error());
  return decode_holdings(*sent);
}

Result<std::vector<HoldingList>> share_holdings(Comm& heads, const HoldingList& mine, const Levels& levels) {
  const LevelSet turning = levels.that_take_turns();
  const auto dictionary = share_dictionary(heads, mine);
  if (!dictionary) return fail(dictionary.error());
  auto gathered = heads.allgather(encode_holdings_by(*dictionary, mine, turning));
  if (!gathered) return fail(gathered.error());
  std::vector<HoldingList> by_head;
  by_head.reserve(gathered->size());
  for (const Buffer& bytes : *gathered) {
    auto holdings = decode_holdings_by(*dictionary, bytes, turning);
    if (!holdings) return fail(holdings.error());
    by_head.push_back(std::move(*holdings));
  }
  return by_head;
}

Buffer encoded_layout(const StoreContents& contents, LayoutId id) {
  for (const NodeManifest& manifest : contents.manifests) {
    if (const Holding* holding = manifest.find(id)) return encode(holding->layout);
  }
  return {};
}

// Shares the layouts that some head does not have: the first head that has one sends it.
Status share_layouts(Comm& heads, const StoreContents& mine, const Layout& known, Inventory& inventory) {
  if (std::ranges::all_of(inventory.by_head, &HoldingList::empty)) return {};
  LayoutId last = known.id();  // nearly always the same for all
  inventory.layouts.emplace(last, known);
  std::map<LayoutId, Peer> wanted;
  for (std::uint32_t head = 0; head < inventory.by_head.size(); ++head) {
    for (const HoldingSummary& summary : inventory.by_head[head]) {
      if (summary.layout == last) continue;
      last = summary.layout;
      if (!inventory.layouts.contains(last)) wanted.try_emplace(last, Peer{head});
    }
  }
  for (const auto& [id, holder] : wanted) {
    auto sent = heads.broadcast(heads.rank() == holder ? encoded_layout(mine, id) : Buffer{}, holder);
    if (!sent) return fail(sent.error());
    auto layout = decode_layout(*sent);
    if (!layout) return fail_internal(layout.error().code, layout.error().message);
    if (layout->id() != id) return fail_internal(Code::communication, "a head sent a different layout than requested");
    inventory.layouts.emplace(id, std::move(*layout));
  }
  return {};
}

// Checks that the holdings of all heads name only nodes that their layouts have.
Status check_nodes(const Inventory& inventory) {
  const Layout* layout = nullptr;
  LayoutId last;
  for (const HoldingList& holdings : inventory.by_head) {
    for (const HoldingSummary& summary : holdings) {
      if (layout == nullptr || summary.layout != last) layout = &inventory.layouts.at(summary.layout);
      last = summary.layout;
      if (summary.node.value < layout->nodes) continue;
      return fail_internal(Code::communication,
                           fmt::format("a head reports files of node {}, but the layout has {} nodes",
                                       summary.node.value, layout->nodes));
    }
  }
  return {};
}

// Struck files, by store.
class StruckFiles {
 public:
  StruckFiles(const std::set<Strike>& strikes, const Levels& levels) : levels_(levels) {
    for (const Strike& strike : strikes) by_store_[strike.store].push_back(strike.file);
  }

  // The levels that a store's part of a snapshot does not count at.
  [[nodiscard]] LevelSet levels(StoreId store, const HoldingSummary& summary, const Layout& layout) const {
    LevelSet struck;
    for_each(store, summary.snapshot, [&](std::string_view name) {
      for (const LevelId level : levels_.in_node_stores() - struck) {
        if (levels_.at(level).stands_on(name, summary, layout)) struck.add(level);
      }
    });
    return struck;
  }
  [[nodiscard]] bool any(StoreId store, const Identity& snapshot) const {
    bool any = false;
    for_each(store, snapshot, [&](std::string_view) { any = true; });
    return any;
  }

 private:
  void for_each(StoreId store, const Identity& snapshot,
                const std::function<void(std::string_view name)>& visit) const {
    const auto found = by_store_.find(store);
    if (found == by_store_.end()) return;
    const std::string prefix = names::snapshot(snapshot).path + "/";
    for (const std::string_view file : found->second) {
      if (file.starts_with(prefix)) visit(file.substr(prefix.size()));
    }
  }

  const Levels& levels_;
  std::map<StoreId, std::vector<std::string_view>> by_store_;
};

// Which nodes' parts of one snapshot were seen, under one layout, by level.
class NodesSeen {
 public:
  explicit NodesSeen(std::uint32_t nodes) : nodes_(nodes) {}

  void note(const HoldingSummary& summary, LevelSet struck) {
    for (const LevelId level : summary.levels) note(level, summary.node, struck);
  }
  // A node's manifest names a level once all nodes have their parts. If some parts were lost later, the level does not
  // count as complete. But the other parts stay, like struck ones: they may be needed after the next loss.
  [[nodiscard]] LevelsReached reached(LevelSet redundancy) const {
    LevelsReached levels;
    for (const auto& [level, there] : there_) {
      const auto whole = whole_.find(level);
      if (whole != whole_.end() && whole->second.count == nodes_)
        levels.complete.add(level);
      else if (there.count == nodes_ || redundancy.has(level))
        levels.struck.add(level);
    }
    return levels;
  }

 private:
  struct Seen {
    std::vector<bool> nodes;
    std::uint32_t count = 0;
  };
  void note(LevelId level, NodeId node, LevelSet struck) {
    note(there_[level], node);
    if (!struck.has(level)) note(whole_[level], node);
  }
  void note(Seen& seen, NodeId node) const {
    if (seen.nodes.empty()) seen.nodes.resize(nodes_);
    seen.count += seen.nodes[node.value] ? 0 : 1;
    seen.nodes[node.value] = true;
  }

  std::uint32_t nodes_;
  std::map<LevelId, Seen> there_;
  std::map<LevelId, Seen> whole_;  // parts without struck files
};

}  // namespace

std::vector<Identity> Inventory::snapshots() const {
  std::set<Identity, std::greater<>> found;
  for (const auto& [level, there] : shared) found.insert(there.begin(), there.end());
  for (const auto& summaries : by_head) {
    for (const HoldingSummary& summary : summaries) found.insert(summary.snapshot);
  }
  return {found.begin(), found.end()};
}

std::map<std::pair<Identity, LayoutId>, LevelsReached> Inventory::levels_reached_by_layout() const {
  const StruckFiles struck(strikes, levels);
  std::map<std::pair<Identity, LayoutId>, NodesSeen> seen;
  for (std::uint32_t head = 0; head < by_head.size(); ++head) {
    for (const HoldingSummary& summary : by_head[head]) {
      const Layout& layout = layouts.at(summary.layout);
      const auto [nodes, is_new] = seen.try_emplace({summary.snapshot, summary.layout}, layout.nodes);
      nodes->second.note(summary, struck.levels(StoreId::node(head), summary, layout));
    }
  }
  std::map<std::pair<Identity, LayoutId>, LevelsReached> reached;
  const LevelSet redundancy = levels.of_redundancy();
  for (const auto& [key, nodes] : seen) reached.emplace(key, nodes.reached(redundancy));
  return reached;
}

std::map<Identity, LevelsReached> Inventory::levels_reached() const {
  const StruckFiles struck(strikes, levels);
  std::map<Identity, LevelsReached> reached;
  for (const auto& [level, snapshots] : shared) {
    const StoreId store = *levels.at(level).traits().shared_store;
    for (const Identity& snapshot : snapshots) {
      LevelsReached& there = reached[snapshot];
      (struck.any(store, snapshot) ? there.struck : there.complete).add(level);
    }
  }
  for (const auto& [key, there] : levels_reached_by_layout()) {
    reached[key.first].complete.add(there.complete);
    reached[key.first].struck.add(there.struck);
  }
  for (auto& [snapshot, there] : reached) there.struck.remove(there.complete);
  return reached;
}

HoldingList StoreContents::summaries() const {
  HoldingList summaries;
  for (const NodeManifest& manifest : manifests) {
    for (const Holding& holding : manifest.holdings) summaries.push_back(levels.summary_of(manifest.identity, holding));
  }
  return summaries;
}

Result<StoreContents> read_store(const Store& store, NodeId me, const Log& log, StoreMemory& memory,
                                 const Sealer& job_sealer, const Levels& levels) {
  StoreContents contents;
  contents.levels = levels;
  auto entries = store.list(DirName{});
  if (!entries) return fail(entries.error());
  // A mark that cannot be read now is written again, with the same id, if other stores have it.
  const auto mark = read_chain_mark(store, *entries, log, job_sealer);
  if (mark) contents.mark = *mark;
  const Code why = mark ? Code::not_found : mark.error().code;
  contents.mark_unknown = why != Code::not_found && why != Code::corrupt && !is_others(why);
  const Sealer sealer = sealer_of(mark, job_sealer);
  contents.has_brought = std::ranges::any_of(
      *entries, [](const Entry& entry) { return entry.directory && entry.name == names::brought().path; });
  for (const Entry& entry : *entries) {
    const auto rank = entry.directory ? names::parse_files(entry.name) : std::nullopt;
    if (rank) contents.with_files.push_back(*rank);
  }
  for (const names::SnapshotDir& listed : names::snapshots_in(*entries)) {
    contents.highest_version = std::max(contents.highest_version, listed.version);
    const DirName dir = names::directory_of(listed);
    const Result<FileSizes> there = files_in(store, dir);
    // A directory that cannot be listed is treated like an unreadable manifest: other stores may have the snapshot.
    if (!there) log.warning("{}", there.error().text());
    auto manifest = there ? manifest_of(store, dir, *there, log, memory, sealer) : fail(there.error());
    if (manifest) {
      const std::vector<NamedFile> files = levels.files(*manifest);
      strike_missing(*there, files, me, contents.strikes);
      note_unnamed(*there, dir, files, contents.unnamed);
      contents.manifests.push_back(std::move(*manifest));
    } else if (there && !there->contains(names::manifest(dir).path)) {
      contents.orphans.push_back(dir);
    } else {
      contents.unreadable.push_back({names::manifest(dir), dir, listed.version, listed.run, manifest.error()});
    }
  }
  // In a store without snapshots the mark has no meaning; but a mark that is not ours to judge is still refused below.
  if (contents.manifests.empty() && contents.unreadable.empty()) {
    contents.mark.reset();
    contents.mark_unknown = false;
  }
  if (!mark && is_others(why))  // it comes first, because it may be the cause of the others
    contents.unreadable.insert(contents.unreadable.begin(), unreadable_mark(mark.error()));
  return contents;
}

Result<Inventory> gather_inventory(Comm& heads, const StoreContents& mine, const Layout& known) {
  auto by_head = share_holdings(heads, mine.summaries(), mine.levels);
  if (!by_head) return fail(by_head.error());
  Inventory inventory;
  inventory.levels = mine.levels;
  inventory.by_head = std::move(*by_head);
  if (auto status = share_layouts(heads, mine, known, inventory); !status) return fail(status.error());
  if (auto status = check_nodes(inventory); !status) return fail(status.error());
  if (auto shared = share_strikes(heads, inventory, mine.strikes); !shared) return fail(shared.error());
  return inventory;
}

Result<Inventory> inventory_of_alike(Comm& heads, const StoreContents& mine, const Layout& known,
                                     const HoldingList& common, const std::vector<bool>& empty) {
  Inventory inventory;
  inventory.levels = mine.levels;
  inventory.by_head.resize(heads.size());
  for (std::uint32_t head = 0; head < heads.size(); ++head) {
    if (empty[head]) continue;
    HoldingList& holdings = inventory.by_head[head] = common;
    for (HoldingSummary& summary : holdings) summary.node = NodeId{head};
  }
  if (auto status = share_layouts(heads, mine, known, inventory); !status) return fail(status.error());
  if (auto status = check_nodes(inventory); !status) return fail(status.error());
  return inventory;
}

Result<bool> share_strikes(Comm& heads, Inventory& inventory, const std::vector<Strike>& mine) {
  ByteWriter out;
  for (const Strike& strike : mine) {
    out.put(strike.store.number());
    out.put_text(strike.file);
  }
  auto gathered = heads.allgather(out.bytes());
  if (!gathered) return fail(gathered.error());
  bool news = false;
  for (const Buffer& bytes : *gathered) {
    ByteReader in(bytes);
    while (in.good() && in.remaining() > 0) {
      Strike strike;
      strike.store = StoreId::of_number(in.get<std::uint32_t>());
      strike.file = in.get_text();
      news |= inventory.strikes.insert(std::move(strike)).second;
    }
    if (!in.good()) return fail_internal(Code::communication, "a list of unusable files is truncated");
  }
  return news;
}

}  // namespace cairn
