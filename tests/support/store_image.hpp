// All files of a store as they were at one moment, so that many ways to lose them start from the same state, and
// what changed can be told.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "store/memory/memory_store.hpp"

namespace cairn::test {

using StoreImage = std::map<std::string, Buffer>;  // by path

[[nodiscard]] StoreImage image_of(const Store& store);
// The inverse, for a store that has none of these files; and for one that is to have no others.
void write_image(Store& store, const StoreImage& image);
void put_back(MemoryStore& store, const StoreImage& image);

// Paths of files that one has and the other has not, or that differ.
[[nodiscard]] std::vector<std::string> differences(const StoreImage& before, const StoreImage& after);

}  // namespace cairn::test
