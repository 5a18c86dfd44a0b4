#include <numeric>

#include <fmt/format.h>

#include "codec/crc32c.hpp"
#include "format/hdf5_data.hpp"
#include "format/hdf5_file.hpp"
#include "format/shard_codec.hpp"

namespace cairn {
namespace {

using hdf5::File;
using hdf5::Pacer;

std::string region_path(Rank rank, const RegionInfo& info) {
  return fmt::format("/{}/{}", hdf5::group_of(rank), info.name);
}

Result<std::vector<Shard>> open_all(const Store& local, const std::vector<FileName>& names) {
  std::vector<Shard> shards;
  for (const auto& name : names) {
    auto shard = Shard::open(local, name);
    if (!shard) return fail(shard.error());
    const auto& first = shards.empty() ? shard->header() : shards.front().header();
    if (shard->header().identity != first.identity || shard->header().safe_point != first.safe_point) {
      return fail(Code::invalid_argument,
                  fmt::format("{} is of another snapshot than {}", name.path, names.front().path));
    }
    shards.push_back(std::move(*shard));
  }
  return shards;
}

// About what the file will take; the store is told to reserve it, and the end is cut.
std::uint64_t expected_bytes(const std::vector<Shard>& shards) {
  constexpr std::uint64_t kDatasetBytes = 1 * kKiB;
  return std::accumulate(shards.begin(), shards.end(), kMiB, [](std::uint64_t sum, const Shard& shard) {
    return sum + shard.header().file_bytes() + shard.header().regions * kDatasetBytes;
  });
}

Status write_regions(File& file, const Shard& shard, Pacer& pacer) {
  const Rank rank = shard.header().rank;
  auto group = hdf5::create_group(file, "/" + hdf5::group_of(rank));
  if (!group) return fail(group.error());
  for (const auto& region : shard.regions()) {
    const RegionInfo& info = region.info;
    auto offset = hdf5::create_dataset(file, region_path(rank, info), hdf5::element_type(info), info.shape);
    if (!offset) return fail(offset.error());
    std::uint64_t at = *offset;
    auto written = hdf5::pump(shard.file(), region.offset, info.size_bytes(), pacer, [&](Bytes piece) {
      const std::uint64_t here = std::exchange(at, at + piece.size());
      return file.write(here, piece);
    });
    if (!written) return written;
    if (info.size_bytes() == 0) pacer.did(0);
  }
  return {};
}

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

// Produces the data section that the regions in the file stand for.
Status rebuild(const File& file, const ShardFrame& frame, Pacer& pacer, DataSection& data) {
  for (const auto& region : frame.regions) {
    auto offset = hdf5::find_dataset(file, region_path(frame.header.rank, region.info), region.info);
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

Status restore_from(const File& file, Rank rank, Store& local, const FileName& shard, Pacer& pacer) {
  auto frame = frame_of(file, rank);
  if (!frame) return fail(frame.error());
  auto out = ShardOutput::create(local, shard, frame->header);
  if (!out) return fail(out.error());
  DataSection data(frame->header.data_bytes, out->mapped_data(),
                   [&](std::uint64_t block, Bytes bytes, std::uint32_t) { return out->write_block(block, bytes); });
  if (auto done = rebuild(file, *frame, pacer, data); !done) return done;
  return out->finish({frame->header_bytes(), frame->table(), frame->crcs(), frame->shas()}, true);
}

Status verify_in(const File& file, const ShardEntry& expected, Pacer& pacer) {
  auto frame = frame_of(file, expected.rank);
  if (!frame) return fail(frame.error());
  const ShardHeader& header = frame->header;
  if (header.file_bytes() != expected.bytes) {
    return fail(Code::corrupt, fmt::format("rank {}: a shard of {} bytes, should be {}", expected.rank.value,
                                           header.file_bytes(), expected.bytes));
  }
  DataSection data(header.data_bytes, {}, [&](std::uint64_t block, Bytes bytes, std::uint32_t crc) -> Status {
    if (crc != frame->crc(block)) return fail(wrong_crc(header, block, crc, frame->crc(block)));
    if (const Sha256 is = sha256(bytes); is != frame->sha(block)) {
      return fail(wrong_sha(header, block, is, frame->sha(block)));
    }
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

// Errors of HDF5 itself begin with the file's name; what is found in its contents is said of it here.
Status named(Status status, const FileName& name) {
  if (status || status.error().message.starts_with(name.path)) return status;
  return fail(status.error().code == Code::corrupt ? status.error().in(name.path) : status.error());
}

}  // namespace

struct NodeFileWriter::State {
  File file;
  std::vector<Shard> shards;
  std::vector<std::uint64_t> frames = {};  // where each is to lie
};

NodeFileWriter::NodeFileWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
NodeFileWriter::NodeFileWriter(NodeFileWriter&&) noexcept = default;
NodeFileWriter& NodeFileWriter::operator=(NodeFileWriter&&) noexcept = default;
NodeFileWriter::~NodeFileWriter() = default;

Result<NodeFileWriter> NodeFileWriter::begin(Store& global, const FileName& name, const Store& local,
                                             const std::vector<FileName>& shards,
                                             const std::function<void()>& between) {
  const hdf5::Quiet quiet;
  auto all = open_all(local, shards);
  if (!all) return fail(all.error());
  auto created = File::create(global, name, expected_bytes(*all));
  if (!created) return fail(created.error());
  auto state = std::make_unique<State>(State{std::move(*created), std::move(*all)});
  File& file = state->file;
  if (auto made = hdf5::create_group(file, fmt::format("/{}", hdf5::kCairnGroup)); !made) return fail(made.error());
  if (!state->shards.empty()) {
    const ShardHeader& header = state->shards.front().header();
    auto done = hdf5::write_attributes(file, header.identity, header.safe_point);
    if (!done) return fail(done.error());
  }
  Pacer pacer(between);
  for (const Shard& shard : state->shards) {
    auto frame = hdf5::create_frame(file, shard.header().rank, ShardFrame::length(shard.header()));
    if (!frame) return fail(frame.error());
    state->frames.push_back(*frame);
    if (auto written = write_regions(file, shard, pacer); !written) return fail(written.error());
  }
  return NodeFileWriter(std::move(state));
}

Result<std::uint64_t> NodeFileWriter::finish() {
  const hdf5::Quiet quiet;
  for (std::size_t i = 0; i < state_->shards.size(); ++i) {
    auto frame = state_->shards[i].frame();
    if (!frame) return fail(frame.error());
    if (auto written = state_->file.write(state_->frames[i], *frame); !written) return fail(written.error());
  }
  return state_->file.finish();
}

Result<std::uint64_t> write_node_file(Store& global, const FileName& name, const Store& local,
                                      const std::vector<FileName>& shards, const std::function<void()>& between) {
  auto writer = NodeFileWriter::begin(global, name, local, shards, between);
  return writer ? writer->finish() : fail(writer.error());
}

Status restore_shard(const Store& global, const FileName& node_file, Rank rank, Store& local, const FileName& shard,
                     const std::function<void()>& between) {
  const hdf5::Quiet quiet;
  auto file = File::open(global, node_file);
  if (!file) return fail(file.error());
  Pacer pacer(between);
  return named(restore_from(*file, rank, local, shard, pacer), node_file);
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
