// A cluster below the session: one head a node and nothing else, so that thousands of losses can be tried in seconds.
// One snapshot is protected once; each case then starts from the same stores, loses some of them or some files, and
// has the heads bring the snapshot home.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recover/retrieve.hpp"
#include "store/memory/memory_store.hpp"
#include "support/store_image.hpp"
#include "support/survival.hpp"

namespace cairn::test {

// The layout of nodes with so many ranks each; levels are off.
[[nodiscard]] Layout layout_of_ranks(const std::vector<std::uint32_t>& ranks_on_node);

class HeadCluster {
 public:
  // `rows`: 32-byte rows in a rank's largest region.
  HeadCluster(Layout layout, const std::function<std::uint64_t(std::uint32_t rank)>& rows);

  // Writes the snapshot on all nodes and raises it to these levels, beyond L1. Once.
  void protect(LevelSet levels, std::uint64_t turn = 0);

  // Raises it to a level once more, from the stores as they are now; manifests stay as they are. What each head was
  // told, empty: that it went well.
  [[nodiscard]] std::vector<std::string> protect_again(LevelId level);
  // What that sees instead of the global store.
  std::shared_ptr<Store> global_seen;

  // What a node's manifest and a glance at its files say.
  [[nodiscard]] bool looks_whole(LevelId level, std::uint32_t node) const;

  // Stores as protect() left them.
  void put_back();
  void lose(const Losses& nodes);

  struct Outcome {
    std::optional<Error> error;  // the same on all heads
    Plan plan;
    std::set<Strike> strikes;
    std::vector<std::uint64_t> writes;   // operations that change a store, by node
    std::vector<Symptom> symptoms = {};  // that heads have reported, by node
    struct Sent {
      NodeId from, to;
      SymptomPort::Sent how{};
    };
    std::vector<Sent> sent = {};  // what became of the files that heads have sent, by node
  };
  // Brings the snapshot home to the nodes of `today`.
  [[nodiscard]] Outcome restore(const Layout& today, std::vector<std::uint32_t> hint = {});
  [[nodiscard]] Outcome restore() { return restore(layout_); }

  // Ranks whose shard in the store of their node is not what they wrote.
  [[nodiscard]] std::vector<std::uint32_t> wrong_ranks(const Layout& today) const;
  [[nodiscard]] std::vector<std::uint32_t> wrong_ranks() const { return wrong_ranks(layout_); }

  // What restore() sees instead of a node's store; empty: the store.
  std::function<std::shared_ptr<Store>(std::uint32_t node, std::shared_ptr<Store>)> seen;
  // Whether restore() looks for the level to restart from as [restart] use_failure_topology = off does.
  bool level_by_level = false;

  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] LevelSet levels() const { return levels_; }
  [[nodiscard]] std::uint64_t turn() const { return turn_; }
  [[nodiscard]] MemoryStore& store(std::uint32_t node) { return *stores_.at(node); }
  [[nodiscard]] MemoryStore& global() { return *global_; }
  [[nodiscard]] std::shared_ptr<Store> shared_store(std::uint32_t node) { return stores_.at(node); }
  [[nodiscard]] std::shared_ptr<Store> shared_global() { return global_; }
  [[nodiscard]] const StoreImage& image(std::uint32_t node) const { return images_.at(node); }
  [[nodiscard]] DirName dir() const;

 private:
  struct HeadOutcome;
  [[nodiscard]] NodeContext context(std::uint32_t node, const Layout& layout) const;
  void write_shards(std::uint32_t node);
  void protect_on(Comm& heads);
  void restore_on(Comm& heads, const Layout& today, const std::vector<std::uint32_t>& hint, HeadOutcome& outcome);

  Layout layout_;
  std::function<std::uint64_t(std::uint32_t)> rows_;
  LevelSet levels_;
  std::uint64_t turn_ = 0;
  std::vector<std::shared_ptr<MemoryStore>> stores_;
  std::shared_ptr<MemoryStore> global_;
  std::vector<StoreImage> images_;
  StoreImage global_image_;
  std::vector<Buffer> shards_;  // by rank, as protected
};

[[nodiscard]] LevelSet level_set(std::initializer_list<LevelId> levels);

// Loses every subset of the nodes. Where the judge says that all ranks can be rescued, all shards must come back bit by
// bit, those of survivors from where they are; where it says they cannot, the refusal must name version, ranks and
// nodes.
void expect_all_that_can_survive(HeadCluster& cluster);
// The same for one subset.
void expect_outcome_of(HeadCluster& cluster, const Losses& lost, std::vector<std::uint32_t> hint = {});

}  // namespace cairn::test
