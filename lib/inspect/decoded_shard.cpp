#include "inspect/decoded_shard.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "codec/reed_solomon.hpp"
#include "format/parity_file.hpp"
#include "level/volume.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

// The lost node in its group, and the group's tables, which each member with parity has.
struct Place {
  const Layout& layout;
  const std::vector<NodeId>& members;
  ErasureShape shape;
  std::uint32_t owner = 0;  // by index in the group
  const ErasureHolding& tables;
};

const ErasureHolding* find_tables(const Survey& survey, const Identity& snapshot, const Layout& layout,
                                  const std::vector<NodeId>& members) {
  for (const StoreId holder : survey.node_stores()) {
    const NodeManifest* manifest = find_manifest(survey, holder, snapshot);
    const Holding* holding = manifest != nullptr ? manifest->find(layout.id()) : nullptr;
    if (holding == nullptr || !holding->erasure || holding->erasure->members.size() != members.size()) continue;
    if (std::ranges::find(members, holding->node) != members.end()) return &*holding->erasure;
  }
  return nullptr;
}

// One input of a chunk: from `start` on in a run of files.
struct Input {
  VolumeReader files;
  std::uint64_t start = 0;
  Buffer scratch = {};
};

struct Chunk {
  std::vector<Input> inputs;
  Combination row;
};

class DecodedReader final : public Reader {
 public:
  DecodedReader(std::vector<Chunk> chunks, std::uint64_t chunk_bytes, std::uint64_t begin, std::uint64_t bytes)
      : chunks_(std::move(chunks)), chunk_bytes_(chunk_bytes), begin_(begin), bytes_(bytes) {}

  std::uint64_t size_bytes() const override { return bytes_; }
  Bytes mapping() const override { return {}; }
  Status read(std::uint64_t offset, MutableBytes into) const override {
    if (offset > bytes_ || into.size() > bytes_ - offset)
      return fail(Code::corrupt, fmt::format("{} bytes at {} are not within the shard", into.size(), offset));
    for (std::uint64_t done = 0; done < into.size();) {
      const std::uint64_t at = begin_ + offset + done;
      const std::uint64_t in_chunk = at % chunk_bytes_;
      const std::uint64_t count = std::min({into.size() - done, chunk_bytes_ - in_chunk, kMiB});
      if (auto status = decode(chunks_[at / chunk_bytes_], in_chunk, into.subspan(done, count)); !status) return status;
      done += count;
    }
    return {};
  }

 private:
  static Status decode(Chunk& chunk, std::uint64_t at, MutableBytes into) {
    std::vector<Bytes> inputs;
    for (Input& input : chunk.inputs) {
      const auto bytes = input.files.read(input.start + at, into.size(), input.scratch);
      if (!bytes) return fail(bytes.error());
      inputs.push_back(*bytes);
    }
    chunk.row.apply(inputs, into);
    return {};
  }

  mutable std::vector<Chunk> chunks_;  // of the owner's volume; files are opened as they are reached
  std::uint64_t chunk_bytes_;
  std::uint64_t begin_;  // of the shard, in the volume
  std::uint64_t bytes_;
};

class Decode {
 public:
  Decode(const JobStores& stores, const Survey& survey, const Identity& snapshot, const Place& place)
      : stores_(stores),
        survey_(survey),
        snapshot_(snapshot),
        place_(place),
        dir_(names::snapshot(snapshot)),
        layout_(place.layout.id()) {}

  [[nodiscard]] Result<Chunk> chunk(std::uint32_t number, const std::vector<Piece>& pieces) const {
    const std::uint32_t column = place_.shape.column_of_chunk(place_.owner, number);
    std::vector<Input> inputs;
    std::vector<std::uint32_t> have;
    for (const Piece& piece : pieces) {
      inputs.push_back(piece.row < place_.shape.data() ? data(piece, column) : parity(piece, column));
      have.push_back(piece.row);
    }
    const auto code = ReedSolomon::create(place_.shape.data(), place_.shape.m);
    if (!code) return fail(code.error());
    auto row = code->decode_row(place_.shape.data_row(place_.owner, column), have);
    if (!row) return fail(row.error());
    return Chunk{std::move(inputs), std::move(*row)};
  }

 private:
  [[nodiscard]] Input data(const Piece& piece, std::uint32_t column) const {
    const std::uint32_t member = place_.shape.data_holder(column, piece.row);
    std::vector<VolumeFile> files;
    for (const ShardEntry& shard : place_.tables.members[member]) {
      const names::Copy copy{place_.members[member], shard.rank, layout_};
      files.push_back({piece.copies ? names::copy(dir_, copy) : names::shard(dir_, shard.rank), shard.bytes});
    }
    const std::uint64_t start = place_.shape.chunk_in_column(member, column) * place_.tables.chunk_bytes;
    return {VolumeReader(stores_.at(StoreId::node(piece.holder)), std::move(files)), start};
  }

  [[nodiscard]] Input parity(const Piece& piece, std::uint32_t column) const {
    const std::uint32_t row = piece.row - place_.shape.data();
    const StoreId holder = StoreId::node(piece.holder);
    const FileName name = names::parity(dir_, {column, row, layout_});
    return {VolumeReader(stores_.at(holder), {{name, parity_bytes(holder, column, row)}}), kParityHeaderBytes};
  }

  // As the manifest beside the file says; 0: it does not name it.
  [[nodiscard]] std::uint64_t parity_bytes(StoreId holder, std::uint32_t column, std::uint32_t row) const {
    const NodeManifest* manifest = find_manifest(survey_, holder, snapshot_);
    const Holding* holding = manifest != nullptr ? manifest->find(layout_) : nullptr;
    if (holding == nullptr || !holding->erasure) return 0;
    for (const ParityEntry& entry : holding->erasure->parity)
      if (entry.column == column && entry.row == row) return entry.bytes;
    return 0;
  }

  const JobStores& stores_;
  const Survey& survey_;
  const Identity& snapshot_;
  const Place& place_;
  DirName dir_;
  LayoutId layout_;
};

}  // namespace

Result<std::shared_ptr<const Reader>> open_decoded_shard(const JobStores& stores, const Survey& survey,
                                                         const Identity& snapshot, const Delivery& delivery) {
  const auto& decode = std::get<DecodedShard>(delivery.source);
  const Layout& layout = survey.inventory.layouts.at(decode.layout);
  const auto [group, index] = layout.place_in_group(decode.owner);
  const auto& members = layout.groups.at(group);
  const ErasureHolding* tables = find_tables(survey, snapshot, layout, members);
  if (tables == nullptr)
    return fail(Code::not_found, fmt::format("no store has the tables of the group of node {}", decode.owner.value));
  const Place place{layout, members, layout.shape_of(group), index, *tables};
  std::uint64_t begin = 0;
  const ShardEntry* shard = nullptr;
  for (const ShardEntry& entry : tables->members[index]) {
    if (entry.rank == delivery.rank) shard = &entry;
    if (shard != nullptr) break;
    begin += entry.bytes;
  }
  if (shard == nullptr || tables->chunk_bytes == 0 || begin + shard->bytes > decode.chunks.size() * tables->chunk_bytes)
    return fail(Code::corrupt, fmt::format("the tables of the group of node {} do not have rank {}", decode.owner.value,
                                           delivery.rank.value));
  const Decode decoding(stores, survey, snapshot, place);
  std::vector<Chunk> chunks;
  for (std::uint32_t t = 0; t < decode.chunks.size(); ++t) {
    auto chunk = decoding.chunk(t, decode.chunks[t]);
    if (!chunk) return fail(chunk.error());
    chunks.push_back(std::move(*chunk));
  }
  return std::make_shared<const DecodedReader>(std::move(chunks), tables->chunk_bytes, begin, shard->bytes);
}

}  // namespace cairn
