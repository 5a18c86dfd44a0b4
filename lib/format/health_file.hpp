// The verdicts of fault localization: health.json of the global store, for ckpt-tool health. Those that hold, and those
// of earlier runs that have not expired. FORMAT.md lists the keys. No restore depends on it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"
#include "format/sealer.hpp"
#include "localize/fault.hpp"

namespace cairn {

struct HealthEntry {
  localize::Verdict verdict;  // its times: microseconds before the decision
  std::string host;           // of the suspect's node
  std::uint64_t decided = 0;  // seconds since 1970
  std::string text;           // the verdict in words
  Incarnation life = {};      // that found it
  std::uint64_t expires = 0;  // seconds since 1970: from then on it no longer counts
  [[nodiscard]] bool expired(std::uint64_t today) const { return today >= expires; }
  friend bool operator==(const HealthEntry&, const HealthEntry&) = default;
};

struct HealthFile {
  Incarnation life;  // that wrote this
  std::vector<HealthEntry> entries;
  friend bool operator==(const HealthFile&, const HealthFile&) = default;
};

// Far more than an analyst keeps.
inline constexpr std::size_t kMostHealthEntries = 4096;
inline constexpr std::uint64_t kMostHealthBytes = 4 * kMiB;

// What the calls of a rank show: of a verdict in the file, and for ckpt-tool.
[[nodiscard]] nlohmann::ordered_json json_of(const localize::Blocker& blocker);

// Inverse pair; the same errors as for manifests. A fault, a symptom or a fact of a newer Cairn is an error.
[[nodiscard]] std::string to_json(const HealthFile& health, const Sealer& sealer = {});
[[nodiscard]] Result<HealthFile> parse_health_file(const std::string& text, const Sealer& sealer = {});

}  // namespace cairn
