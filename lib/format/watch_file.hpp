// That the heads of a run look after it, and when they last did: watch.json of the global store, for ckpt-tool health.
// FORMAT.md lists the keys. No restore depends on it. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "format/sealer.hpp"

namespace cairn {

struct WatchFile {
  // A run that has not looked for so long is not watched by now. Heads write the file every 10 seconds.
  static constexpr std::uint64_t kCountsForSeconds = 60;

  Incarnation life;            // that is watched
  std::uint32_t ranks = 0;     // of the application
  std::uint32_t heads = 0;     // of the run
  std::uint32_t watching = 0;  // that are processes of their own, and answer
  bool calls = false;          // whether ranks record their MPI calls, so that hangs are found
  std::uint64_t looked = 0;    // seconds since 1970
  [[nodiscard]] bool counts(std::uint64_t today) const { return today < looked + kCountsForSeconds; }
  friend bool operator==(const WatchFile&, const WatchFile&) = default;
};

// Inverse pair; the same errors as for manifests.
[[nodiscard]] std::string to_json(const WatchFile& watch, const Sealer& sealer = {});
[[nodiscard]] Result<WatchFile> parse_watch_file(const std::string& text, const Sealer& sealer = {});

}  // namespace cairn
