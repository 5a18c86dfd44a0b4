#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "codec/crc32c.hpp"
#include "format/shard_blocks.hpp"

namespace cairn {
namespace {

// Calls `visit` for every block whose CRC is right, on the helpers too, and `between` after each that this thread did.
// Of several errors, returns the one that comes first in the file.
template <class Visit>
Status walk_blocks(const ShardFile& shard, bool sha, Workers& workers, const std::function<void()>& between,
                   Visit visit) {
  ShardBlocks blocks(shard.file(), shard.header());
  if (auto loaded = blocks.load_tables(sha); !loaded) return loaded;
  std::mutex mutex;
  std::atomic<std::uint64_t> first_bad = shard.header().blocks();
  Status found;
  const auto walk = [&](std::size_t block) {
    if (block > first_bad) return;
    Buffer scratch;
    const auto bytes = blocks.bytes(block, scratch);
    Status good = bytes ? blocks.check_crc(block, crc32c(*bytes)) : fail(bytes.error());
    if (good) good = visit(blocks, block, *bytes);
    if (good) return;
    const std::scoped_lock lock(mutex);
    if (block < first_bad) {
      first_bad = block;
      found = std::move(good);
    }
  };
  workers.for_each(shard.header().blocks(), walk, between);
  return found;
}

// What is read of a frame becomes the digest, for ever: a bit that was read wrong once would make a good shard a bad
// one.
Status check_read(Bytes frame, const ShardHeader& opened) {
  const auto header = decode_shard_header(frame.first(kShardHeaderBytes));
  if (!header) return fail(header.error());
  if (*header != opened) return fail(Code::corrupt, "two reads of its header gave different bytes");
  const Bytes table = frame.subspan(kShardHeaderBytes, opened.table_bytes);
  if (auto good = check_region_table(opened, table); !good) return good;
  return check_crc_table(opened, frame.subspan(kShardHeaderBytes + opened.table_bytes, opened.blocks() * kCrcBytes));
}

}  // namespace

Status check_blocks(const ShardFile& shard) {
  Workers alone(0);
  return walk_blocks(
      shard, false, alone, [] {}, [](const ShardBlocks&, std::uint64_t, Bytes) { return Status{}; });
}

Result<Buffer> sha_of_blocks(const ShardFile& shard, Workers& workers, const std::function<void()>& between) {
  Buffer shas(shard.header().blocks() * kShaBytes);
  const auto digest = [&](const ShardBlocks&, std::uint64_t block, Bytes bytes) -> Status {
    std::ranges::copy(sha256(bytes).bytes, shas.begin() + static_cast<std::ptrdiff_t>(block * kShaBytes));
    return {};
  };
  auto walked = walk_blocks(shard, false, workers, between, digest);
  if (!walked) return fail(walked.error().in_file(shard.name()));
  return shas;
}

Result<ShardEntry> digest_shard(Store& store, const FileName& name, Workers& workers,
                                const std::function<void()>& between) {
  auto shard = ShardFile::open(store, name);
  if (!shard) return fail(shard.error());
  auto frame = shard->frame();
  if (!frame) return fail(frame.error());
  const ShardHeader& header = shard->header();
  if (auto good = check_read(*frame, header); !good) return fail(good.error().in_file(name.path));
  if (header.digest == BlockDigest::sha256) {
    if (const auto again = shard->frame(); !again || *again != *frame) {
      return fail_in_file(Code::io, name.path, "two reads of its CRC table gave different bytes");
    }
    const auto shas = sha_of_blocks(*shard, workers, between);
    if (!shas) return fail(shas.error());
    if (!shas->empty()) {
      if (auto patched = store.patch(name, header.sha_offset(), *shas); !patched) return fail(patched.error());
    }
    copy_bytes(*shas, MutableBytes(*frame).last(shas->size()));
  }
  if (auto synced = store.sync(name); !synced) return fail(synced.error());
  return ShardEntry{header.rank, header.file_bytes(), sha256(*frame)};
}

Result<ShardEntry> digest_shard(Store& store, const FileName& name, const std::function<void()>& between) {
  Workers alone(0);
  return digest_shard(store, name, alone, between);
}

Status verify_shard(const Store& store, const FileName& name, const ShardEntry& expected, Workers& workers,
                    const std::function<void()>& between) {
  auto shard = Shard::open(store, name);
  return shard ? verify_shard(*shard, expected, workers, between) : fail(shard.error());
}

Status verify_shard(const Shard& shard, const ShardEntry& expected, Workers& workers,
                    const std::function<void()>& between) {
  if (auto status = check_entry(shard.header(), expected); !status) return fail(status.error().in_file(shard.name()));
  auto frame = shard.frame();
  if (!frame) return fail(frame.error());
  // Blocks first: if there are two errors, the one that says where the damage is helps more.
  auto good =
      walk_blocks(shard, true, workers, between, [](const ShardBlocks& blocks, std::uint64_t block, Bytes bytes) {
        return blocks.check_sha(block, bytes);
      }).and_then([&] { return check_padding(shard); });
  if (!good) return fail(good.error().in_file(shard.name()));
  if (const Sha256 is = sha256(*frame); is != expected.digest)
    return fail(wrong_digest(is, expected.digest).in_file(shard.name()));
  return {};
}

Status verify_shard(const Store& store, const FileName& name, const ShardEntry& expected,
                    const std::function<void()>& between) {
  Workers alone(0);
  return verify_shard(store, name, expected, alone, between);
}

}  // namespace cairn
