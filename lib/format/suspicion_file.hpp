// What an operator or a health script reports with ckpt-tool health --report: a small file in the global store, which a
// head of the job takes. FORMAT.md lists the keys. No restore depends on it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "format/sealer.hpp"

namespace cairn {

struct SuspicionFile {
  std::uint64_t written = 0;                     // seconds since 1970
  std::variant<NodeId, Rank, std::string> whom;  // the text: a host
  std::string text;                              // plain; not empty
  friend bool operator==(const SuspicionFile&, const SuspicionFile&) = default;
};

// Inverse pair; the same errors as for manifests.
[[nodiscard]] std::string to_json(const SuspicionFile& file, const Sealer& sealer = {});
[[nodiscard]] Result<SuspicionFile> parse_suspicion_file(const std::string& text, const Sealer& sealer = {});

}  // namespace cairn
