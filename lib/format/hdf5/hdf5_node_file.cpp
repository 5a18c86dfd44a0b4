#include <fmt/format.h>

#include "codec/crc32c.hpp"
#include "format/hdf5/hdf5_data.hpp"
#include "format/hdf5/hdf5_file.hpp"
#include "format/shard_codec.hpp"

namespace cairn {
namespace {

using hdf5::File;
using hdf5::Pacer;

Result<ShardFrame> frame_of(const File& file, Rank rank) {
  auto bytes = hdf5::read_frame(file, rank);
  if (!bytes) return fail(bytes.error());
  auto frame = ShardFrame::parse(std::move(*bytes));
  const std::string what = fmt::format("the frame of rank {}", rank.value);
  if (!frame) return fail(frame.error().in(what));
  if (frame->header.rank != rank) {
    return fail(Code::corrupt, fmt::format("{} is rank {}'s", what, frame->header.rank.value));
  }
  return frame;
}

// The SHA-256 of its blocks: in the frame, or beside it.
Result<Buffer> shas_of(const File& file, const ShardFrame& frame) {
  if (frame.header.digest != BlockDigest::sha256)
    return hdf5::read_shas(file, frame.header.rank, frame.header.blocks());
  return Buffer(frame.shas().begin(), frame.shas().end());
}

// Rebuilds a shard's data section from the regions in the file.
Status rebuild(const File& file, const ShardFrame& frame, Pacer& pacer, DataSection& data) {
  for (const auto& region : frame.regions) {
    auto offset = hdf5::find_dataset(file, hdf5::path_of(frame.header.rank, region.info), region.info);
    if (!offset) return fail(offset.error());
    auto done = data.zeros_to(region.offset - frame.header.data_offset).and_then([&] {
      return hdf5::pump(file.reader(), *offset, region.info.size_bytes(), pacer,
                        [&](Bytes piece) { return data.put(piece); });
    });
    if (!done) return done;
    if (region.info.size_bytes() == 0) pacer.did(0);
  }
  return {};
}

Status restore_from(const File& file, Rank rank, ShardTarget& target, Pacer& pacer) {
  auto frame = frame_of(file, rank);
  if (!frame) return fail(frame.error());
  auto out = ShardOutput::create(target.local, target.shard, frame->header);
  if (!out) return target.status = fail(out.error());
  DataSection data(frame->header.data_bytes, out->mapped_data(), [&](std::uint64_t block, Bytes bytes, std::uint32_t) {
    return target.status = out->write_block(block, bytes);
  });
  if (auto done = rebuild(file, *frame, pacer, data); !done) return done;
  auto shard = std::move(*out).finish({frame->header_bytes(), frame->table(), frame->crcs(), frame->shas()});
  if (!shard) return target.status = fail(shard.error());
  target.file = std::move(*shard);
  return {};
}

Status verify_in(const File& file, const ShardEntry& expected, Pacer& pacer) {
  auto frame = frame_of(file, expected.rank);
  if (!frame) return fail(frame.error());
  const ShardHeader& header = frame->header;
  if (header.file_bytes() != expected.bytes) {
    return fail(Code::corrupt, fmt::format("rank {}: a shard of {} bytes, should be {}", expected.rank.value,
                                           header.file_bytes(), expected.bytes));
  }
  const auto shas = shas_of(file, *frame);
  if (!shas) return fail(shas.error().in(fmt::format("rank {}", expected.rank.value)));
  DataSection data(header.data_bytes, {}, [&](std::uint64_t block, Bytes bytes, std::uint32_t crc) -> Status {
    if (crc != frame->crc(block)) return fail(wrong_crc(header.blocks(), block, crc, frame->crc(block)));
    const Sha256 should = sha_at(*shas, block);
    if (const Sha256 is = sha256(bytes); is != should) return fail(wrong_sha(header, block, is, should));
    return {};
  });
  auto rebuilt = rebuild(file, *frame, pacer, data);
  const std::string rank = fmt::format("rank {}", expected.rank.value);
  if (!rebuilt) return fail(rebuilt.error().in(rank));
  if (const Sha256 is = sha256(frame->bytes); is != expected.digest) {
    return fail(wrong_digest(is, expected.digest).in(rank));
  }
  return {};
}

// Puts the file's name in front of an error about its contents.
Status named(const Status& status, const FileName& name) {
  return status ? status : fail(status.error().in_file(name.path));
}

}  // namespace

Status restore_shard(const Store& global, const FileName& node_file, Rank rank, ShardTarget& target,
                     const std::function<void()>& between) {
  const hdf5::Quiet quiet;
  auto file = File::open(global, node_file);
  if (!file) return fail(file.error());
  Pacer pacer(between);
  const Status restored = restore_from(*file, rank, target, pacer);
  return target.status ? named(restored, node_file) : restored;
}

Status verify_node_shard(const Store& global, const FileName& node_file, const ShardEntry& expected,
                         const std::function<void()>& between) {
  const hdf5::Quiet quiet;
  auto file = File::open(global, node_file);
  if (!file) return fail(file.error());
  Pacer pacer(between);
  return named(verify_in(*file, expected, pacer), node_file);
}

}  // namespace cairn
