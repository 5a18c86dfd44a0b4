// The table of levels that a job has: what each is called, and what can be asked of all of them. The product's four are
// made by make_levels(), the only place that distinguishes them. Code that uses a table works with any other table as
// well.
//
// A value; copies share the levels. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/ids.hpp"
#include "format/manifest.hpp"
#include "level/holding_summary.hpp"
#include "level/named_file.hpp"
#include "topology/layout.hpp"

namespace cairn {

class Level;

class Levels {
 public:
  // `id` is not in the table yet, and from 1 to kMostLevels: the cheaper the level, the lower.
  void add(LevelId id, std::shared_ptr<Level> level);

  // `id` is in the table.
  [[nodiscard]] Level& at(LevelId id) const { return *levels_.at(id); }
  [[nodiscard]] LevelSet all() const {
    return ids_if([](const Level&) { return true; });
  }
  // Those whose files are in node stores, and named by the manifests there; the others' are in stores of all nodes.
  [[nodiscard]] LevelSet in_node_stores() const;
  [[nodiscard]] LevelSet in_shared_stores() const { return all() - in_node_stores(); }
  // Those of them whose store is the global one, where the records of the chain are.
  [[nodiscard]] LevelSet in_global_store() const;
  // The level that a snapshot is at once it is sealed: its ranks' own shards.
  [[nodiscard]] LevelId of_own_shards() const;
  // The levels in node stores that come in addition to it.
  [[nodiscard]] LevelSet of_redundancy() const;
  // Those whose files go to other nodes each time.
  [[nodiscard]] LevelSet that_take_turns() const;
  // Those whose lost files are made again after a restore.
  [[nodiscard]] LevelSet that_are_rebuilt() const;
  // The level to which the job's last state goes.
  [[nodiscard]] LevelId of_last_state() const;
  // Those that today's layout carries.
  [[nodiscard]] LevelSet carried_by(const Layout& layout) const;
  // Those that can still give back every shard of a snapshot of `layout` after the stores of `lost` are gone, judged by
  // the layout alone. Other levels need not be tried.
  [[nodiscard]] LevelSet that_survive(const Layout& layout, const std::vector<NodeId>& lost, std::uint64_t turn) const;

  // The levels that a holding has something of.
  [[nodiscard]] LevelSet held(const Holding& holding) const;
  [[nodiscard]] HoldingSummary summary_of(const Identity& snapshot, const Holding& holding) const;
  // The number of the promotion that placed the holding; none: it has no level that takes turns.
  [[nodiscard]] std::optional<std::uint64_t> turn_of(const Holding& holding) const;
  // The files that a manifest names, each once, though several holdings may name it; by name.
  [[nodiscard]] std::vector<NamedFile> files(const NodeManifest& manifest) const;

 private:
  [[nodiscard]] LevelSet ids_if(const std::function<bool(const Level&)>& wanted) const;

  std::map<LevelId, std::shared_ptr<Level>> levels_;
};

// The four.
[[nodiscard]] Levels make_levels();
[[nodiscard]] std::unique_ptr<Level> make_level(LevelId id);

}  // namespace cairn
