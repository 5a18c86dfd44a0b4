// A parity file (L3) while it is being computed, slice by slice. It has no name until commit(), so an older file of
// this name stays until then. Local; one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/sha256.hpp"
#include "codec/reed_solomon.hpp"
#include "format/manifest.hpp"
#include "format/parity_file.hpp"
#include "store/store.hpp"

namespace cairn {

class ParityWriter {
 public:
  // `code`: the row of the header's parity from all data rows.
  ParityWriter(Store& store, FileName name, const ParityHeader& header, Combination code)
      : store_(&store), name_(std::move(name)), header_(header), code_(std::move(code)) {}

  // The next slice of each data row, at `offset` of the chunk. All slices but the last have kBlockBytes.
  [[nodiscard]] Status consume(std::uint64_t offset, std::span<const Bytes> inputs);
  // Writes what follows the parity. Returns what the manifest says of the file.
  [[nodiscard]] Result<ParityEntry> finish();
  // Gives it its name.
  [[nodiscard]] Status commit() { return writer_ ? writer_->commit(header_.file_bytes(), true) : Status{}; }

 private:
  Store* store_;
  FileName name_;
  ParityHeader header_;
  Combination code_;
  Buffer buffer_;
  Buffer head_;
  ByteWriter crcs_;
  Sha256Stream whole_;  // where the digest is of the whole file
  std::unique_ptr<Writer> writer_;
};

// What the parity file of `header` is to have: a CRC can be forged, so with a key it is a SHA-256. A file that is made
// again gets what it had, so that it fits the manifest that names it until there is a new one. `before`: what that
// manifest says; null: nothing.
[[nodiscard]] BlockDigest digest_for(bool has_key, const ErasureHolding* before, const ParityHeader& header);

}  // namespace cairn
