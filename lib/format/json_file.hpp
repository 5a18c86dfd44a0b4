// A JSON file as it lies in a store: sealed by a digest of itself, and of bounded length.
//
// The last 82 bytes of a sealed file are the key "sha256" with the digest of all bytes before them, so that a byte that
// changed is found on the text itself, before anything is made of it. A seal that is there is checked whatever the file
// says of its format: a format of 3 in a file that is whole is newer, and in one that is not it is a flipped bit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "store/store.hpp"

namespace cairn {

// What a manifest may take. The longest is the global one: at most 150 bytes a rank for its shard, 30 a rank for its
// place in the layout (when no two neighbours share a node), and 250 a node: 360 MiB for 2^21 ranks on 10,000 nodes. A
// node's manifest has no digests of others' shards but those it keeps, and takes 30 bytes a rank for each layout.
inline constexpr std::uint64_t kMostManifestBytes = 512 * kMiB;
// A run record, or measured costs: some hundred bytes.
inline constexpr std::uint64_t kMostRecordBytes = 64 * kKiB;

enum class Seal { none, whole, broken };

// The object as text that ends with its seal; `json` has a key or more, and none is "sha256".
[[nodiscard]] std::string seal_json(const nlohmann::ordered_json& json);
[[nodiscard]] Seal seal_of(std::string_view text);

// Whether a file of ours begins by saying a format that this Cairn reads; only its first bytes are read. False: look
// closer.
[[nodiscard]] bool says_known_format(const Store& store, const FileName& name);

// As write_text(); refuses what read_text() would not read again for its length.
[[nodiscard]] Status write_json_text(Store& store, const FileName& name, const std::string& text,
                                     std::uint64_t most_bytes);

}  // namespace cairn
