#include "level/parity_writer.hpp"

#include <algorithm>

#include "codec/crc32c.hpp"
#include "level/exchange.hpp"
#include "store/names.hpp"

namespace cairn {

static_assert(kSliceBytes == kBlockBytes, "each slice of parity is a block with a CRC");

Status ParityWriter::consume(std::uint64_t offset, std::span<const Bytes> inputs) {
  if (!writer_) {
    auto created = store_->create(name_, header_.file_bytes(), names::owner_head());
    if (!created) return fail(created.error());
    writer_ = std::move(*created);
    head_ = encode(header_);
    if (auto status = writer_->write(0, head_); !status) return status;
    whole_.update(head_);
  }
  // Computed straight into the mapped file, if the store maps.
  const MutableBytes mapping = writer_->mapping();
  const std::uint64_t length = inputs.front().size();
  if (mapping.empty()) buffer_.resize(length);
  const MutableBytes slice =
      mapping.empty() ? MutableBytes(buffer_).first(length) : mapping.subspan(kParityHeaderBytes + offset, length);
  code_.apply(inputs, slice);
  if (header_.digest == BlockDigest::sha256)
    whole_.update(slice);
  else
    crcs_.put(crc32c(slice));
  if (mapping.empty()) {
    if (auto status = writer_->write(kParityHeaderBytes + offset, slice); !status) return status;
  }
  return {};
}

Result<ParityEntry> ParityWriter::finish() {
  ParityEntry entry{header_.column, header_.row, header_.file_bytes(), {}};
  const Bytes crcs = crcs_.bytes();
  entry.digest = header_.digest == BlockDigest::sha256 ? whole_.finish() : frame_digest(head_, crcs);
  if (!writer_ || crcs.empty()) return entry;
  if (auto status = writer_->write(header_.crc_offset(), crcs); !status) return fail(status.error());
  return entry;
}

BlockDigest digest_for(bool has_key, const ErasureHolding* before, const ParityHeader& header) {
  if (has_key) return BlockDigest::sha256;
  if (before == nullptr) return BlockDigest::crc32c;
  const auto is_whole = [&](const ParityEntry& had) {
    return had.column == header.column && had.row == header.row && had.bytes == kParityHeaderBytes + header.chunk_bytes;
  };
  return std::ranges::any_of(before->parity, is_whole) ? BlockDigest::sha256 : BlockDigest::crc32c;
}

}  // namespace cairn
