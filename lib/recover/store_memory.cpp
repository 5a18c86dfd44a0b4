#include "recover/store_memory.hpp"

namespace cairn {
namespace {

std::string path_of(const Store& store, const DirName& dir) { return store.where() + "/" + dir.path; }

}  // namespace

void StoreMemory::remember(const Store& store, const DirName& dir, const NodeManifest& manifest, std::uint64_t bytes) {
  by_path_[path_of(store, dir)] = {manifest, bytes};
}

void StoreMemory::forget(const Store& store, const DirName& dir) { by_path_.erase(path_of(store, dir)); }

const NodeManifest* StoreMemory::recall(const Store& store, const DirName& dir, std::uint64_t bytes) const {
  const auto found = by_path_.find(path_of(store, dir));
  return found == by_path_.end() || found->second.bytes != bytes ? nullptr : &found->second.manifest;
}

}  // namespace cairn
