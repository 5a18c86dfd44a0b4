// L2: every node's shards are copied whole to `copies` partners, whose placement takes turns.
#pragma once

#include "level/level.hpp"

namespace cairn {

class PartnerLevel final : public Level {
 public:
  PartnerLevel() : Level({.effort = Effort::file, .is_rebuilt = true, .takes_turns = true}) {}

  [[nodiscard]] bool is_carried_by(const Layout& layout) const override;
  [[nodiscard]] bool survives(const Layout& layout, const std::vector<bool>& gone, std::uint64_t turn) const override;
  [[nodiscard]] std::uint64_t extra_bytes(std::uint64_t own_bytes, const Layout& layout, NodeId me) const override;
  [[nodiscard]] bool is_in(const Holding& holding) const override;
  [[nodiscard]] std::optional<std::uint64_t> turn_of(const Holding& holding) const override;
  void note(KnownParts::Parts& parts, LevelId self, const HoldingSummary& part, Peer holder) const override;
  void forget(Holding& holding) const override;
  [[nodiscard]] bool is_file(std::string_view name, LayoutId layout) const override;
  [[nodiscard]] std::vector<NamedFile> files(const DirName& dir, const Holding& holding) const override;
  [[nodiscard]] std::unique_ptr<SourceFinder> sources(const KnownParts& known) const override;
  [[nodiscard]] std::string describe(const Delivery& delivery) const override;
  [[nodiscard]] Status protect(Comm& heads, const NodeContext& node, NodeManifest& manifest,
                               std::uint64_t turn) override;
  [[nodiscard]] Result<RestoreOutcome> restore(Comm& heads, const NodeContext& node, const RestoreTask& task) override;
};

}  // namespace cairn
