#include "format/hdf5/hdf5_shard_reader.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "format/hdf5/hdf5_data.hpp"

namespace cairn {
namespace {

// Bytes of the shard's file from `begin` on: in the frame, or in the node file. Between pieces there are zeros.
struct ShardPiece {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  Bytes here = {};           // empty: in the node file
  std::uint64_t offset = 0;  // there
  [[nodiscard]] std::uint64_t end() const { return begin + bytes; }
};

class NodeShardReader final : public Reader {
 public:
  NodeShardReader(ShardFrame frame, std::unique_ptr<Reader> file, std::vector<ShardPiece> regions)
      : frame_(std::move(frame)), file_(std::move(file)), pieces_(std::move(regions)) {
    const ShardHeader& header = frame_.header;
    add(0, frame_.header_bytes());
    add(kShardHeaderBytes, frame_.table());
    add(header.crc_offset(), frame_.crcs());
    add(header.sha_offset(), frame_.shas());
    std::ranges::sort(pieces_, {}, &ShardPiece::begin);
  }

  std::uint64_t size_bytes() const override { return frame_.header.file_bytes(); }
  Bytes mapping() const override { return {}; }
  Status read(std::uint64_t offset, MutableBytes into) const override {
    if (offset > size_bytes() || into.size() > size_bytes() - offset)
      return fail(Code::corrupt, fmt::format("{} bytes at {} are not within the shard", into.size(), offset));
    std::ranges::fill(into, std::byte{0});
    auto piece = std::ranges::upper_bound(pieces_, offset, {}, &ShardPiece::end);
    for (; piece != pieces_.end() && piece->begin < offset + into.size(); ++piece) {
      const std::uint64_t from = std::max(offset, piece->begin);
      const std::uint64_t count = std::min(offset + into.size(), piece->end()) - from;
      if (auto status = fill(*piece, from - piece->begin, into.subspan(from - offset, count)); !status) return status;
    }
    return {};
  }

 private:
  void add(std::uint64_t begin, Bytes bytes) {
    if (!bytes.empty()) pieces_.push_back({begin, bytes.size(), bytes});
  }
  [[nodiscard]] Status fill(const ShardPiece& piece, std::uint64_t at, MutableBytes into) const {
    if (piece.here.empty()) return file_->read(piece.offset + at, into);
    copy_bytes(piece.here.subspan(at, into.size()), into);
    return {};
  }

  ShardFrame frame_;
  std::unique_ptr<Reader> file_;
  std::vector<ShardPiece> pieces_;
};

}  // namespace

Result<std::shared_ptr<const Reader>> open_node_shard(const Store& global, const FileName& node_file,
                                                      const ShardEntry& expected) {
  const hdf5::Quiet quiet;
  const auto file = hdf5::File::open(global, node_file);
  if (!file) return fail(file.error());
  auto frame = hdf5::frame_of(*file, expected);
  if (!frame) return fail(frame.error().in_file(node_file.path));
  std::vector<ShardPiece> regions;
  for (const PlacedRegion& region : frame->regions) {
    const auto offset = hdf5::find_dataset(*file, hdf5::path_of(expected.rank, region.info), region.info);
    if (!offset) return fail(offset.error().in_file(node_file.path));
    if (region.info.size_bytes() > 0) regions.push_back({region.offset, region.info.size_bytes(), {}, *offset});
  }
  auto bytes = global.open(node_file);
  if (!bytes) return fail(bytes.error());
  return std::make_shared<const NodeShardReader>(std::move(*frame), std::move(*bytes), std::move(regions));
}

}  // namespace cairn
