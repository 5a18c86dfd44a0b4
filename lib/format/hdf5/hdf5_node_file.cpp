#include <fmt/format.h>

#include "codec/crc32c.hpp"
#include "format/hdf5/hdf5_data.hpp"
#include "format/hdf5/hdf5_file.hpp"
#include "format/shard_blocks.hpp"
#include "format/shard_codec.hpp"

namespace cairn {
namespace {

using hdf5::File;
using hdf5::Pacer;

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

Status check_crc(const ShardFrame& frame, std::uint64_t block, std::uint32_t is) {
  const std::uint32_t should = frame.crc(block);
  return is == should ? Status{} : fail(wrong_crc(frame.header.blocks(), block, is, should));
}

Status restore_from(const File& file, const ShardEntry& expected, ShardTarget& target, Pacer& pacer) {
  auto frame = hdf5::frame_of(file, expected);
  if (!frame) return fail(frame.error());
  const ShardHeader& header = frame->header;
  auto out = ShardOutput::create(target.local, target.shard, header, {});  // new: what a rank had here is lost
  if (!out) return target.status = fail(out.error());
  DataSection data(header.data_bytes, out->mapped_data(), [&](std::uint64_t block, Bytes bytes, std::uint32_t crc) {
    if (auto good = check_crc(*frame, block, crc); !good) return good;
    return target.status = out->write_block(block, bytes);
  });
  if (auto done = rebuild(file, *frame, pacer, data); !done) return done;
  auto shard = std::move(*out).finish({frame->header_bytes(), frame->table(), frame->crcs(), frame->shas()});
  if (!shard) return target.status = fail(shard.error());
  target.file = std::move(*shard);
  target.compared = header.digest == BlockDigest::crc32c;
  return {};
}

Status verify_in(const File& file, const ShardEntry& expected, Pacer& pacer) {
  auto frame = hdf5::frame_of(file, expected);
  if (!frame) return fail(frame.error());
  const std::string what = fmt::format("rank {}", expected.rank.value);
  const auto shas = shas_of(file, *frame);
  if (!shas) return fail(shas.error().in(what));
  const ShardHeader& header = frame->header;
  DataSection data(header.data_bytes, {}, [&](std::uint64_t block, Bytes bytes, std::uint32_t crc) -> Status {
    if (auto good = check_crc(*frame, block, crc); !good) return good;
    const Sha256 should = sha_at(*shas, block);
    if (const Sha256 is = sha256(bytes); is != should) return fail(wrong_sha(header, block, is, should));
    return {};
  });
  const auto rebuilt = rebuild(file, *frame, pacer, data);
  return rebuilt ? rebuilt : fail(rebuilt.error().in(what));
}

// Puts the file's name in front of an error about its contents.
Status named(const Status& status, const FileName& name) {
  return status ? status : fail(status.error().in_file(name.path));
}

}  // namespace

Status restore_shard(const Store& global, const FileName& node_file, const ShardEntry& expected, ShardTarget& target,
                     const std::function<void()>& between) {
  const hdf5::Quiet quiet;
  auto file = File::open(global, node_file);
  if (!file) return fail(file.error());
  Pacer pacer(between);
  const Status restored = restore_from(*file, expected, target, pacer);
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
