// What a process remembers of the node store that its head kept: the manifests there. It outlives a session, so that
// the next session in the same process need not read them again. It is a copy and never the truth. An entry counts only
// while the store has a manifest of that name and length, and the list of files is always read again. Stale memory only
// costs time. It also keeps which nodes the head knew to be sick: a repair uses their spares last.
//
// One thread at a time: the head's. Local.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "format/manifest.hpp"
#include "store/store.hpp"
#include "topology/sick_names.hpp"

namespace cairn {

class StoreMemory {
 public:
  // `bytes`: of the manifest's file.
  void remember(const Store& store, const DirName& dir, const NodeManifest& manifest, std::uint64_t bytes);
  void forget(const Store& store, const DirName& dir);
  // Null: nothing is remembered of that directory, or of a manifest of another length.
  [[nodiscard]] const NodeManifest* recall(const Store& store, const DirName& dir, std::uint64_t bytes) const;

  void know_sick(SickNames names) { sick_ = std::move(names); }
  [[nodiscard]] const SickNames& sick() const { return sick_; }

 private:
  struct Remembered {
    NodeManifest manifest;
    std::uint64_t bytes = 0;
  };
  std::map<std::string, Remembered> by_path_;  // the store's place is part of it
  SickNames sick_;
};

}  // namespace cairn
