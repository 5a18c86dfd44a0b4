// A snapshot at L4, for tools that inspect a job's stores.
#pragma once

#include "format/manifest.hpp"
#include "level/shared_snapshot.hpp"

namespace cairn {

class GlobalSnapshot final : public SharedSnapshot {
 public:
  explicit GlobalSnapshot(GlobalManifest manifest) : manifest_(std::move(manifest)) {}
  [[nodiscard]] const GlobalManifest& manifest() const { return manifest_; }

  [[nodiscard]] const Identity& identity() const override { return manifest_.identity; }
  [[nodiscard]] const Layout& layout() const override { return manifest_.layout; }
  [[nodiscard]] const std::vector<ShardEntry>& shards() const override { return manifest_.shards; }
  [[nodiscard]] std::vector<Part> parts() const override;
  [[nodiscard]] SnapshotNotes notes() const override { return manifest_.notes; }
  [[nodiscard]] bool is_same(const SharedSnapshot& other) const override;
  void verify(const Store& store, const Reading& reading) const override;

 private:
  void verify_node_file(const Store& store, const Part& part, NodeId node, const Reading& reading) const;

  GlobalManifest manifest_;
};

}  // namespace cairn
