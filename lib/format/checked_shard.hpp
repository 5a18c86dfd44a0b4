// A stored shard that is to be copied, encoded or flushed: its bytes are checked as they are read, each block while it
// is in cache, so that damage never travels on under a good name. Every error names the file.
// Local; one thread at a time.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "format/shard.hpp"

namespace cairn {

class CheckedShard {
 public:
  // Checks the header and the CRC of the region table. With `sha`, blocks are checked by their SHA-256 as well, which
  // they must have and the head must have filled in; check_frame() says whether those are the right ones.
  static Result<CheckedShard> open(const Store& store, const FileName& name, bool sha = false);
  // The same of bytes that need not be a file; errors name `name`.
  static Result<CheckedShard> open(std::shared_ptr<const Reader> file, const FileName& name, bool sha = false);
  CheckedShard(CheckedShard&&) noexcept;
  CheckedShard& operator=(CheckedShard&&) noexcept;
  ~CheckedShard();

  [[nodiscard]] const ShardFile& shard() const;
  // Checks everything except the data: rank, length and digest against `expected`, and padding. Returns the frame, see
  // Shard::frame().
  [[nodiscard]] Result<Buffer> check_frame(const ShardEntry& expected) const;

  // For a file that is not mapped: the block that one run of reads has reached.
  struct InHand {
    std::uint64_t block = std::numeric_limits<std::uint64_t>::max();
    Buffer bytes;
  };
  // Bytes of the file, after the CRC of every block that they touch was found right: in the mapping or in `scratch`. A
  // mapped block is checked once. A block that is not mapped is checked each time it is read from the store, which is
  // once in a run from front to back.
  [[nodiscard]] Result<Bytes> read(std::uint64_t offset, std::uint64_t length, Buffer& scratch, InHand& hand);

 private:
  struct State;
  explicit CheckedShard(std::unique_ptr<State> state);
  static Result<CheckedShard> check(Result<ShardFile> shard, const FileName& name, bool sha);
  [[nodiscard]] Status check_mapped(std::uint64_t offset, std::uint64_t length);
  [[nodiscard]] Status take(std::uint64_t offset, MutableBytes into, InHand& hand);
  [[nodiscard]] Status take_in_hand(std::uint64_t block, InHand& hand);

  std::unique_ptr<State> state_;
};

}  // namespace cairn
