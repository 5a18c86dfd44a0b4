// Symptoms that found no way to the node that analyses them, because a life ended: symptoms.json of a node's store, for
// the next life. FORMAT.md lists the keys. No restore depends on it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "format/sealer.hpp"
#include "localize/fault.hpp"

namespace cairn {

// About a node, which may have another number in the next life.
struct SpooledSymptom {
  std::string host;
  std::uint32_t place = 0;     // of the node among those of its host
  localize::Observation seen;  // its times: microseconds before the file was written; its suspect: of no meaning
  friend bool operator==(const SpooledSymptom&, const SpooledSymptom&) = default;
};

struct SymptomFile {
  std::uint64_t written = 0;  // seconds since 1970
  std::vector<SpooledSymptom> symptoms;
  friend bool operator==(const SymptomFile&, const SymptomFile&) = default;
};

// Far more than a node has when a life ends. Of more, the first are written.
inline constexpr std::size_t kMostSpooled = 256;

// Inverse pair; the same errors as for manifests.
[[nodiscard]] std::string to_json(const SymptomFile& file, const Sealer& sealer = {});
[[nodiscard]] Result<SymptomFile> parse_symptom_file(const std::string& text, const Sealer& sealer = {});

}  // namespace cairn
