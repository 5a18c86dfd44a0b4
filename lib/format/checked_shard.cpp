#include "format/checked_shard.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "codec/crc32c.hpp"
#include "format/shard_blocks.hpp"

namespace cairn {

struct CheckedShard::State {
  State(ShardFile opened, bool by_sha) : shard(std::move(opened)), sha(by_sha) {
    whole.resize(shard.header().blocks());
  }

  ShardFile shard;
  bool sha;
  ShardBlocks blocks{shard.file(), shard.header()};
  std::vector<bool> whole;  // blocks of the mapping that were checked

  [[nodiscard]] Status check(std::uint64_t block, Bytes bytes) const {
    return blocks.check_crc(block, crc32c(bytes)).and_then([&] {
      return sha ? blocks.check_sha(block, bytes) : Status();
    });
  }
  [[nodiscard]] std::uint64_t data_begin() const { return shard.header().data_offset; }
  [[nodiscard]] std::uint64_t data_end() const { return data_begin() + shard.header().data_bytes; }
};

CheckedShard::CheckedShard(std::unique_ptr<State> state) : state_(std::move(state)) {}
CheckedShard::CheckedShard(CheckedShard&&) noexcept = default;
CheckedShard& CheckedShard::operator=(CheckedShard&&) noexcept = default;
CheckedShard::~CheckedShard() = default;

Result<CheckedShard> CheckedShard::open(const Store& store, const FileName& name, bool sha) {
  return check(ShardFile::open(store, name), name, sha);
}

Result<CheckedShard> CheckedShard::open(std::shared_ptr<const Reader> file, const FileName& name, bool sha) {
  return check(ShardFile::open(std::move(file), name), name, sha);
}

Result<CheckedShard> CheckedShard::check(Result<ShardFile> shard, const FileName& name, bool sha) {
  if (!shard) return fail(shard.error());
  if (auto table = shard->table(); !table) return fail(table.error());
  if (sha && shard->header().digest != BlockDigest::sha256) {
    return fail_in_file(Code::corrupt, name.path, "its blocks have no SHA-256, but the job has a key");
  }
  auto state = std::make_unique<State>(std::move(*shard), sha);
  if (auto loaded = state->blocks.load_tables(sha); !loaded) return fail(loaded.error().in_file(name.path));
  return CheckedShard(std::move(state));
}

const ShardFile& CheckedShard::shard() const { return state_->shard; }

Result<Buffer> CheckedShard::check_frame(const ShardEntry& expected) const {
  auto frame = state_->shard.frame();
  if (!frame) return frame;
  Status good = check_entry(state_->shard.header(), expected);
  if (const Sha256 is = sha256(*frame); good && is != expected.digest) good = fail(wrong_digest(is, expected.digest));
  if (good) good = check_padding(state_->shard);
  if (!good) return fail(good.error().in_file(state_->shard.name()));
  return frame;
}

Result<Bytes> CheckedShard::read(std::uint64_t offset, std::uint64_t length, Buffer& scratch, InHand& hand) {
  const Bytes mapping = state_->shard.file().mapping();
  if (!mapping.empty()) {
    if (auto status = check_mapped(offset, length); !status) return fail(status.error().in_file(state_->shard.name()));
    return mapping.subspan(offset, length);
  }
  scratch.resize(length);
  if (auto status = take(offset, scratch, hand); !status) return fail(status.error().in_file(state_->shard.name()));
  return scratch;
}

Status CheckedShard::check_mapped(std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t begin = std::max(offset, state_->data_begin()) - state_->data_begin();
  const std::uint64_t end = std::min(offset + length, state_->data_end());
  Buffer none;
  for (std::uint64_t block = begin / kBlockBytes; state_->data_begin() + block * kBlockBytes < end; ++block) {
    if (state_->whole[block]) continue;
    const auto bytes = state_->blocks.bytes(block, none);
    if (!bytes) return fail(bytes.error());
    if (auto status = state_->check(block, *bytes); !status) return status;
    state_->whole[block] = true;
  }
  return {};
}

Status CheckedShard::take(std::uint64_t offset, MutableBytes into, InHand& hand) {
  while (!into.empty()) {
    std::uint64_t length = into.size();
    if (offset >= state_->data_begin() && offset < state_->data_end()) {
      const std::uint64_t block = (offset - state_->data_begin()) / kBlockBytes;
      if (auto status = take_in_hand(block, hand); !status) return status;
      const std::uint64_t from = offset - state_->data_begin() - block * kBlockBytes;
      length = std::min(length, hand.bytes.size() - from);
      copy_bytes(Bytes(hand.bytes).subspan(from, length), into);
    } else {
      if (offset < state_->data_begin()) length = std::min(length, state_->data_begin() - offset);
      if (auto status = state_->shard.file().read(offset, into.first(length)); !status) return status;
    }
    into = into.subspan(length);
    offset += length;
  }
  return {};
}

Status CheckedShard::take_in_hand(std::uint64_t block, InHand& hand) {
  if (hand.block == block) return {};
  hand.block = InHand{}.block;
  const auto bytes = state_->blocks.bytes(block, hand.bytes);
  if (!bytes) return fail(bytes.error());
  if (auto status = state_->check(block, *bytes); !status) return status;
  hand.block = block;
  return {};
}

}  // namespace cairn
