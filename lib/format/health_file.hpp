// The verdicts of fault localization that hold: health.json of the global store, for ckpt-tool health. FORMAT.md lists
// the keys. No restore depends on it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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
  friend bool operator==(const HealthEntry&, const HealthEntry&) = default;
};

struct HealthFile {
  Incarnation life;  // that found this
  std::vector<HealthEntry> entries;
  friend bool operator==(const HealthFile&, const HealthFile&) = default;
};

// What the calls of a rank show: of a verdict in the file, and for ckpt-tool.
[[nodiscard]] nlohmann::ordered_json json_of(const localize::Blocker& blocker);

// Inverse pair; the same errors as for manifests. A fault, a symptom or a fact of a newer Cairn is an error.
[[nodiscard]] std::string to_json(const HealthFile& health, const Sealer& sealer = {});
[[nodiscard]] Result<HealthFile> parse_health_file(const std::string& text, const Sealer& sealer = {});

}  // namespace cairn
