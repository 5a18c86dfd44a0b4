// A JSON file as it lies in a store: sealed, and of bounded length.
//
// The last 82 bytes of a sealed file are the key "sha256" with the digest of all bytes before them, so that a byte that
// changed is found on the text itself, before anything is made of it. A seal that is there is checked whatever the file
// says of its format: a format of 6 in a file that is whole is newer, and in one that is not it is a flipped bit. Files
// of jobs with a key have the code of that key before it (format/sealer).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "format/sealer.hpp"
#include "store/store.hpp"

namespace cairn {

// What is written: without a key, and with one; and so much more where nodes have changed places (topology/layout).
inline constexpr std::uint64_t kPlainFormat = 2;
inline constexpr std::uint64_t kKeyedFormat = 3;
inline constexpr std::uint64_t kArranged = 2;
inline constexpr std::uint64_t kNewestFormat = kKeyedFormat + kArranged;
[[nodiscard]] constexpr bool is_keyed(std::uint64_t format) {
  return format == kKeyedFormat || format == kKeyedFormat + kArranged;
}

// What a manifest may take. The longest is the global one: at most 150 bytes a rank for its shard, 30 a rank for its
// place in the layout (when no two neighbours share a node), and 250 a node: 360 MiB for 2^21 ranks on 10,000 nodes. A
// node's manifest has no digests of others' shards but those it keeps, and takes 30 bytes a rank for each layout.
inline constexpr std::uint64_t kMostManifestBytes = 512 * kMiB;
// A run record, or measured costs: some hundred bytes.
inline constexpr std::uint64_t kMostRecordBytes = 64 * kKiB;

// What is about the digest's digits, and how long that is in all.
inline constexpr std::string_view kBeforeDigest = ",\n \"sha256\": \"";
inline constexpr std::string_view kAfterDigest = "\"\n}\n";
inline constexpr std::size_t kDigestDigits = 64;
inline constexpr std::size_t kSealBytes = kBeforeDigest.size() + kDigestDigits + kAfterDigest.size();

// Of the digest.
enum class Seal { none, whole, broken };
[[nodiscard]] Seal seal_of(std::string_view text);

// The format that a file of ours says at its beginning; none: it does not begin so.
[[nodiscard]] std::optional<std::uint64_t> format_said(std::string_view text);

// Whether a file of ours begins by saying a format without a key that this Cairn reads; only its first bytes are read.
// False: look closer.
[[nodiscard]] bool says_known_format(const Store& store, const FileName& name);

// As write_text(); refuses what read_text() would not read again for its length.
[[nodiscard]] Status write_json_text(Store& store, const FileName& name, const std::string& text,
                                     std::uint64_t most_bytes);

}  // namespace cairn
