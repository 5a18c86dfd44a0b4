#include <algorithm>

#include <fmt/format.h>

#include "format/manifest.hpp"

namespace cairn {

Result<FileDigest> digest_file(const Store& store, const FileName& name) {
  constexpr std::uint64_t kPiece = 4 * kMiB;
  const auto reader = store.open(name);
  if (!reader) return fail(reader.error());
  FileDigest digest{(*reader)->size_bytes(), {}};
  Sha256Stream sha;
  Buffer scratch;
  for (std::uint64_t at = 0; at < digest.bytes; at += kPiece) {
    const auto piece = view(**reader, at, std::min(kPiece, digest.bytes - at), scratch);
    if (!piece) return fail(piece.error());
    sha.update(*piece);
  }
  digest.digest = sha.finish();
  return digest;
}

Status check_file(const Store& store, const FileName& name, const FileDigest& expected) {
  const auto reader = store.open(name);
  if (!reader) return fail(reader.error());
  if (const std::uint64_t is = (*reader)->size_bytes(); is != expected.bytes) {
    return fail_in_file(Code::corrupt, name.path, fmt::format("it is {} bytes long, should be {}", is, expected.bytes));
  }
  const auto is = digest_file(store, name);
  if (!is) return fail(is.error());
  if (*is == expected) return {};
  return fail_in_file(Code::corrupt, name.path,
                      fmt::format("its SHA-256 is {}, should be {}", is->digest.hex(), expected.digest.hex()));
}

}  // namespace cairn
