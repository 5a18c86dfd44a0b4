// A Level is one kind of redundancy: what it survives, which files it has, how a snapshot is protected by it and how
// shards come back from it. Levels are put together in a table (level/levels), and all other code uses the table. Only
// the code that makes the table, the configuration and the printed texts know which level is which.
//
// A level acts on behalf of a node. Calls with a Comm are collective among all heads, which make them in the same order
// and with the same plan. Whatever fails on one head, the call returns on every head, protect() with the same answer.
// All other calls are local, and const ones are pure except for the files that they read.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/log.hpp"
#include "base/symptom.hpp"
#include "base/trace.hpp"
#include "base/workers.hpp"
#include "comm/comm.hpp"
#include "format/manifest.hpp"
#include "level/delivery.hpp"
#include "level/known_parts.hpp"
#include "level/levels.hpp"
#include "level/shared_snapshot.hpp"
#include "level/source_finder.hpp"
#include "level/strike.hpp"
#include "store/pending_file.hpp"
#include "store/store.hpp"
#include "topology/layout.hpp"

namespace cairn {

// A node as its head sees it. Head of node i is member i of the heads' Comm.
struct NodeContext {
  NodeId me;
  Layout layout;            // today's
  Incarnation incarnation;  // this life of the job
  RunId run;
  std::shared_ptr<Store> local;
  std::shared_ptr<Store> global;
  Sealer sealer = {};
  Levels levels = make_levels();
  std::function<void()> between = [] {};  // run between slices, so that newer snapshots need not wait
  Log log = Log::silent();
  Trace trace;
  SymptomPort* symptoms = nullptr;  // takes what seems wrong with other nodes; null: nobody does
  std::shared_ptr<Workers> workers = std::make_shared<Workers>(0);  // the head's; never null

  // Head 0 writes what the job has once, and speaks for it.
  [[nodiscard]] bool leads() const { return me.value == 0; }
  [[nodiscard]] DirName dir(const Identity& identity) const;
  [[nodiscard]] std::string name_of(const Identity& identity) const {
    return "version " + std::to_string(identity.version.value);
  }
  // The size of this node's own shards in today's layout, as far as the manifest names them.
  [[nodiscard]] std::uint64_t own_bytes(const NodeManifest& manifest) const;
};

// Where a rank reads the shard that a delivery brings to this node. `aside`: it is of a snapshot of another number of
// ranks, or of one that is only opened. What is brought then does not become a part of this store's snapshot, so it
// lies beside it.
[[nodiscard]] FileName home_of(const NodeContext& node, const Identity& snapshot, const Delivery& delivery, bool aside);

struct RestoreTask {
  Identity snapshot;
  std::vector<Delivery> deliveries;        // of this level, the same list on all heads
  std::map<LayoutId, Layout> layouts;      // those that deliveries name
  const NodeManifest* manifest = nullptr;  // what this node holds of the snapshot; null: nothing
  bool aside = false;                      // see home_of()

  [[nodiscard]] FileName home(const NodeContext& node, const Delivery& delivery) const {
    return home_of(node, snapshot, delivery, aside);
  }
};

// The results of deliveries to this node, and the files found bad on this node.
struct RestoreOutcome {
  struct Arrival {
    ShardEntry shard;
    std::size_t delivery;                  // position in the task
    std::optional<PendingFile> file = {};  // none: the file already has its name
    bool compared = false;                 // as it was written: it need not be read back
  };
  std::vector<Arrival> arrived;
  std::vector<Strike> strikes;
};

// What kind of redundancy a level is: the same for every snapshot and every layout.
struct LevelTraits {
  // What it takes to get a shard from it.
  Effort effort = Effort::file;
  // The store shared by all nodes that has its files; none: they are in node stores, named by the manifests there.
  std::optional<StoreId> shared_store = {};
  // This level is the ranks' own shards: a snapshot is complete here once all nodes have sealed it. A table has exactly
  // one such level.
  bool is_own_shards = false;
  // Lost files of this level are made again after a restore.
  bool is_rebuilt = false;
  // Its files go to other nodes each time: protect() chooses them by the number of the promotion.
  bool takes_turns = false;
};

class Level {
 public:
  explicit Level(const LevelTraits& traits) : traits_(traits) {}
  virtual ~Level() = default;

  [[nodiscard]] const LevelTraits& traits() const { return traits_; }
  [[nodiscard]] bool in_node_stores() const { return !traits_.shared_store; }
  // Whether a layout has what it needs.
  [[nodiscard]] virtual bool is_carried_by(const Layout& layout) const = 0;
  // Whether it can still give back every shard of a snapshot of `layout` after the stores of the nodes in `gone` are
  // lost, judged by the layout alone.
  [[nodiscard]] virtual bool survives(const Layout& layout, const std::vector<bool>& gone,
                                      std::uint64_t turn) const = 0;
  // Bytes that it takes in a node's store for each snapshot, beside own shards of `own_bytes`.
  [[nodiscard]] virtual std::uint64_t extra_bytes(std::uint64_t own_bytes, const Layout& layout, NodeId me) const = 0;

  // What it has in a node store.

  [[nodiscard]] virtual bool is_in(const Holding& /*holding*/) const { return false; }
  // The number of the promotion that placed it; none: the level takes no turns, or is not in the holding.
  [[nodiscard]] virtual std::optional<std::uint64_t> turn_of(const Holding& /*holding*/) const { return {}; }
  // Removes the level from the holding; discard() removes its files.
  virtual void forget(Holding& /*holding*/) const {}
  // Adds to `parts` what a part of a snapshot has at this level, under the nodes that it belongs to. `self`: the
  // level's own number.
  virtual void note(KnownParts::Parts& /*parts*/, LevelId /*self*/, const HoldingSummary& /*part*/,
                    Peer /*holder*/) const {}
  // The files that a holding names in a snapshot's directory.
  [[nodiscard]] virtual std::vector<NamedFile> files(const DirName& /*dir*/, const Holding& /*holding*/) const {
    return {};
  }
  // Whether a file of this name in a snapshot's directory is one of it, made under this layout.
  [[nodiscard]] virtual bool is_file(std::string_view /*name*/, LayoutId /*layout*/) const { return false; }
  // Whether a store's part of a snapshot does not count at this level without the file of this name. Own shards are
  // such files too: a level survives what it promises only together with the node's own shards.
  [[nodiscard]] bool stands_on(std::string_view name, const HoldingSummary& part, const Layout& layout) const;
  // Is a file what its manifest says? Reads everything. Code::corrupt says what is wrong.
  [[nodiscard]] virtual Status verify(const Store& store, const Identity& snapshot, const NamedFile& file,
                                      const std::function<void()>& between) const;
  // Whether this node's files of it are there and begin as they should: reads no more than headers and region
  // tables. `manifest`: what this node has of the snapshot; null: nothing.
  [[nodiscard]] virtual bool looks_whole(const NodeContext& node, const Identity& snapshot,
                                         const NodeManifest* manifest) const;

  // What it has in a store that all nodes share: a directory for each snapshot, with a manifest.

  // That store.
  [[nodiscard]] virtual std::shared_ptr<Store> store(const NodeContext& /*node*/) const { return nullptr; }
  // What is in a snapshot's directory there. Code::not_found: it has no manifest.
  [[nodiscard]] virtual Result<std::shared_ptr<const SharedSnapshot>> look_at(const Store& store, const DirName& dir,
                                                                              const Sealer& sealer) const;

  // Protecting, and coming back.

  // Raises the snapshot that `manifest` describes, with its `own` shards under today's layout, to this level, and
  // notes in `manifest` what this node now holds. `turn`: the number of this promotion to the level.
  [[nodiscard]] virtual Status protect(Comm& heads, const NodeContext& node, NodeManifest& manifest,
                                       std::uint64_t turn) = 0;

  // Whether a snapshot that was protected at this level is still there: files of a store that all nodes share may have
  // been removed since. The same answer on all heads; an error names what is missing or changed. Collective.
  enum class Reads { outside_data, everything };
  [[nodiscard]] virtual Status confirm(Comm& heads, const NodeContext& node, const NodeManifest& manifest,
                                       Reads reads) const;

  // The inverse: brings shards to the nodes that need them.
  [[nodiscard]] virtual Result<RestoreOutcome> restore(Comm& heads, const NodeContext& node,
                                                       const RestoreTask& task) = 0;

  // Where shards can come from. Pure.
  [[nodiscard]] virtual std::unique_ptr<SourceFinder> sources(const KnownParts& known) const = 0;
  // Which files to strike after the deliveries `wrong` (positions in the task) have arrived at this node and are not
  // what they should be. `struck`: restore() has struck something here already. Collective if a wrong delivery does not
  // show which input was bad.
  [[nodiscard]] virtual Result<std::vector<Strike>> blame(Comm& heads, const NodeContext& node, const RestoreTask& task,
                                                          const std::vector<std::size_t>& wrong, bool struck) const;
  // Where a shard comes from, in words.
  [[nodiscard]] virtual std::string describe(const Delivery& delivery) const = 0;

  // Removes what this node holds of a snapshot at this level under `layout`: files, and their entries in the manifest.
  // Does nothing for a level in a store that all nodes share. Local.
  [[nodiscard]] Status discard(const NodeContext& node, NodeManifest& manifest, LayoutId layout) const;

 protected:
  // Whether a file of it in this node's store begins as it should.
  [[nodiscard]] virtual bool begins_well(const Store& store, const Identity& snapshot, const NamedFile& file) const;

 private:
  LevelTraits traits_;
};

// The files of a node's own shards, in rank order.
struct VolumeFile;
[[nodiscard]] std::vector<VolumeFile> shard_files(const DirName& dir, const std::vector<ShardEntry>& shards);

// Shard entries as a message of fixed size per shard. Inverse pair.
inline constexpr std::size_t kEntryBytes = 44;
[[nodiscard]] Buffer encode_entries(const std::vector<ShardEntry>& shards);
[[nodiscard]] Result<std::vector<ShardEntry>> decode_entries(Bytes bytes);

}  // namespace cairn
