// What a job's files take, by their kind.
#pragma once

#include <array>
#include <cstdint>
#include <ctime>
#include <string>

#include "commands.hpp"
#include "stores.hpp"

namespace ckpt_tool {

struct Space {
  enum class Kind { shards, copies, parity, hdf5, recycled, other };
  static constexpr std::array kKinds{Kind::shards, Kind::copies, Kind::parity, Kind::hdf5, Kind::recycled, Kind::other};

  std::array<std::uint64_t, kKinds.size()> bytes{};
  std::time_t written = 0;  // when the newest file was written that is not recycled; 0: there is none

  [[nodiscard]] std::uint64_t of(Kind kind) const { return bytes.at(static_cast<std::size_t>(kind)); }
  // All but retired files, which the next snapshots use again.
  [[nodiscard]] std::uint64_t used() const;
  [[nodiscard]] std::uint64_t all() const { return used() + of(Kind::recycled); }
  Space& operator+=(const Space& other);
};

// Of one store, by the names of its files. Files that disappear meanwhile, and directories that cannot be read, count
// nothing.
[[nodiscard]] Space measure_space(const std::string& directory);

struct JobSpace {
  Space nodes;  // all node stores that were found
  Space global;
};
[[nodiscard]] JobSpace measure_space(const OpenStores& opened);

// A line for the node stores and one for the global store, where there are any.
[[nodiscard]] std::string space_text(const JobSpace& space);
[[nodiscard]] Json space_json(const JobSpace& space);

}  // namespace ckpt_tool
