// A JSON file as it lies in a store: sealed, and of bounded length.
//
// The last 82 bytes of a sealed file are the key "sha256" with the digest of all bytes before them, so that a changed
// byte is found in the text itself, before it is parsed. If there is a seal, it is checked whatever format the file
// says: format 12 is a newer format if the seal is right, and a flipped bit if it is not. In files of jobs with a key,
// the code made with that key stands before the digest (format/sealer).
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

// The formats that are written, each without a key and with one: of manifests, and of all other files. In between, 4
// and 5 were those of manifests whose nodes had changed places (topology/layout).
inline constexpr Formats kRecordFormats{2, 3};
inline constexpr Formats kManifestFormats{6, 7};
// Of manifests with a layout that avoids nodes: an older Cairn would take them for damaged.
inline constexpr Formats kAvoidingFormats{8, 9};
// Of run records with choices: an older Cairn would restore what they have abandoned.
inline constexpr Formats kChoosingFormats{10, 11};
// Of run records with rejected snapshots: the same.
inline constexpr Formats kRejectingFormats{12, 13};
inline constexpr std::uint64_t kNewestFormat = kRejectingFormats.keyed;
[[nodiscard]] constexpr bool is_keyed(std::uint64_t format) { return format > 1 && format % 2 == 1; }

// The largest size of a manifest. The longest is the global one: at most 150 bytes a rank for its shard, 30 a rank for
// its place in the layout (when no two neighbours share a node), and 250 a node: 360 MiB for 2^21 ranks on 10,000
// nodes. A node's manifest has digests only of the shards that it keeps, and takes 30 bytes a rank for each layout.
inline constexpr std::uint64_t kMostManifestBytes = 512 * kMiB;
// A run record, or measured costs: some hundred bytes.
inline constexpr std::uint64_t kMostRecordBytes = 64 * kKiB;

// The text before and after the digest's digits, and the length of the whole seal.
inline constexpr std::string_view kBeforeDigest = ",\n \"sha256\": \"";
inline constexpr std::string_view kAfterDigest = "\"\n}\n";
inline constexpr std::size_t kDigestDigits = 64;
inline constexpr std::size_t kSealBytes = kBeforeDigest.size() + kDigestDigits + kAfterDigest.size();

// The state of a file's digest.
enum class SealState { none, whole, broken };
[[nodiscard]] SealState seal_of(std::string_view text);

// The format that a file of Cairn says at its beginning; none: the text does not begin like such a file.
[[nodiscard]] std::optional<std::uint64_t> format_said(std::string_view text);

// Whether a file begins with a format that this Cairn reads and that has no key; reads only the first bytes. False: the
// caller must read the whole file.
[[nodiscard]] bool says_known_format(const Store& store, const FileName& name);

// The same as write_text(), but refuses a text that is too long for read_text().
[[nodiscard]] Status write_json_text(Store& store, const FileName& name, const std::string& text,
                                     std::uint64_t most_bytes);

}  // namespace cairn
