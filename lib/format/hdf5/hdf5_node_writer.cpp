#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "format/checked_shard.hpp"
#include "format/hdf5/hdf5_data.hpp"
#include "format/hdf5/hdf5_file.hpp"
#include "format/hdf5/node_file_check.hpp"
#include "format/shard_codec.hpp"

namespace cairn {
namespace {

using hdf5::File;

constexpr std::uint64_t kStepBytes = 4 * kMiB;

Result<std::vector<CheckedShard>> open_all(const Store& local, const std::vector<FileName>& names, bool sha) {
  std::vector<CheckedShard> shards;
  for (const auto& name : names) {
    auto shard = CheckedShard::open(local, name, sha);
    if (!shard) return fail(shard.error());
    shards.push_back(std::move(*shard));
  }
  return shards;
}

Status check_of_one_snapshot(const std::vector<CheckedShard>& shards) {
  for (const CheckedShard& shard : shards) {
    const ShardHeader& header = shard.shard().header();
    const ShardHeader& first = shards.front().shard().header();
    if (header.identity == first.identity && header.safe_point == first.safe_point) continue;
    return fail(Code::invalid_argument,
                fmt::format("{} is of another snapshot than {}", shard.shard().name(), shards.front().shard().name()));
  }
  return {};
}

// An estimate of the file's size: the store reserves it, and the file is cut to its real size at the end.
std::uint64_t expected_bytes(const std::vector<CheckedShard>& shards) {
  constexpr std::uint64_t kDatasetBytes = 1 * kKiB;
  return std::accumulate(shards.begin(), shards.end(), kMiB, [](std::uint64_t sum, const CheckedShard& shard) {
    const ShardHeader& header = shard.shard().header();
    const std::uint64_t shas = header.blocks() * kShaBytes + kDatasetBytes;
    return sum + header.file_bytes() + header.regions * kDatasetBytes + shas;
  });
}

}  // namespace

struct NodeFileWriter::State {
  File file;
  std::vector<CheckedShard> shards;
  std::vector<std::uint64_t> frames = {};   // the place of each frame in the file; one for each shard entered
  std::vector<std::uint64_t> shas = {};     // the place of the SHA-256 of its blocks; 0: it has none beside its frame
  std::vector<Buffer> digests = {};         // what is written there
  std::vector<Stretch> data = {};           // of all regions and frames
  std::optional<Shard> entered = {};        // the last of them
  std::size_t region = 0;                   // of that shard: the one under way
  std::optional<std::uint64_t> place = {};  // in the file, of that region; none: its dataset is not made yet
  std::uint64_t done_bytes = 0;             // of that region
  Buffer piece = {};
  CheckedShard::InHand hand = {};  // of that shard

  // The next bytes of the region, checked.
  [[nodiscard]] Result<Bytes> next_piece(const PlacedRegion& of, std::uint64_t count) {
    return shards[frames.size() - 1].read(of.offset + done_bytes, count, piece, hand);
  }
};

NodeFileWriter::NodeFileWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
NodeFileWriter::NodeFileWriter(NodeFileWriter&&) noexcept = default;
NodeFileWriter& NodeFileWriter::operator=(NodeFileWriter&&) noexcept = default;
NodeFileWriter::~NodeFileWriter() = default;

Result<NodeFileWriter> NodeFileWriter::begin(Store& global, const FileName& name, const Store& local,
                                             const std::vector<FileName>& shards, bool sha) {
  auto all = open_all(local, shards, sha);
  if (!all) return fail(all.error());
  return begin(global, name, std::move(*all));
}

Result<NodeFileWriter> NodeFileWriter::begin(Store& global, const FileName& name, std::vector<CheckedShard> shards) {
  const hdf5::Quiet quiet;
  if (auto status = check_of_one_snapshot(shards); !status) return fail(status.error());
  auto created = File::create(global, name, expected_bytes(shards));
  if (!created) return fail(created.error());
  auto state = std::make_unique<State>(State{std::move(*created), std::move(shards)});
  File& file = state->file;
  if (auto made = hdf5::create_group(file, fmt::format("/{}", hdf5::kCairnGroup)); !made) return fail(made.error());
  if (!state->shards.empty()) {
    const ShardHeader& header = state->shards.front().shard().header();
    auto done = hdf5::write_attributes(file, header.identity, header.safe_point);
    if (!done) return fail(done.error());
  }
  return NodeFileWriter(std::move(state));
}

Status NodeFileWriter::enter_shard() {
  State& state = *state_;
  auto shard = Shard::of(state.shards[state.frames.size()].shard());
  if (!shard) return fail(shard.error());
  state.entered = std::move(*shard);
  const ShardHeader& header = state.entered->header();
  const std::uint64_t frame_bytes = ShardFrame::length(header);
  auto frame = hdf5::create_frame(state.file, header.rank, frame_bytes);
  if (!frame) return fail(frame.error());
  auto group = hdf5::create_group(state.file, "/" + hdf5::group_of(header.rank));
  if (!group) return fail(group.error());
  if (header.digest != BlockDigest::sha256) {
    auto shas = hdf5::create_shas(state.file, header.rank, header.blocks());
    if (!shas) return fail(shas.error());
    state.shas.push_back(*shas);
  } else {
    state.shas.push_back(0);
  }
  state.frames.push_back(*frame);
  state.data.push_back({*frame, frame_bytes});
  state.region = 0;
  state.hand = {};
  return {};
}

Status NodeFileWriter::enter_region() {
  State& state = *state_;
  const RegionInfo& info = state.entered->regions()[state.region].info;
  auto place = hdf5::create_region(state.file, hdf5::path_of(state.entered->header().rank, info), info);
  if (!place) return fail(place.error());
  if (info.size_bytes() > 0) state.data.push_back({*place, info.size_bytes()});
  state.place = *place;
  state.done_bytes = 0;
  return {};
}

// Writes about `bytes` more of the regions, in their order; false: all of them are written.
Result<bool> NodeFileWriter::advance(std::uint64_t bytes) {
  const hdf5::Quiet quiet;
  State& state = *state_;
  for (std::uint64_t did = 0; did < bytes;) {
    const bool between_shards = !state.entered || state.region == state.entered->regions().size();
    if (between_shards && state.frames.size() == state.shards.size()) return false;
    Status status;
    if (between_shards) {
      status = enter_shard();
    } else if (!state.place) {
      status = enter_region();
      did += hdf5::kDatasetWork;
    } else {
      const PlacedRegion& region = state.entered->regions()[state.region];
      const std::uint64_t count = std::min(region.info.size_bytes() - state.done_bytes, bytes - did);
      status = state.next_piece(region, count).and_then([&](Bytes piece) {
        return state.file.write(*state.place + state.done_bytes, piece);
      });
      did += count;
      state.done_bytes += count;
      if (state.done_bytes == region.info.size_bytes()) {
        ++state.region;
        state.place.reset();
      }
    }
    if (!status) return fail(status.error());
  }
  return true;
}

// The blocks' digests are computed by all helpers, and in between this thread writes, so that processors and disk work
// side by side.
Status NodeFileWriter::write_regions(Workers& workers, const std::function<void()>& between) {
  Result<bool> more = true;
  const auto step = [&](std::uint64_t bytes) {
    if (more && *more) more = advance(bytes);
    if (between) between();
  };
  for (CheckedShard& shard : state_->shards) {
    if (shard.shard().header().digest == BlockDigest::sha256) {
      state_->digests.emplace_back();
      continue;
    }
    auto shas = sha_of_blocks(shard.shard(), workers, [&] { step(kBlockBytes); });
    if (!more) return fail(more.error());
    if (!shas) return fail(shas.error());
    state_->digests.push_back(std::move(*shas));
  }
  while (more && *more) step(kStepBytes);
  return more ? Status{} : fail(more.error());
}

Status NodeFileWriter::write_frames(std::span<const ShardEntry> expected) {
  const hdf5::Quiet quiet;
  State& state = *state_;
  for (std::size_t i = 0; i < state.shards.size(); ++i) {
    const CheckedShard& shard = state.shards[i];
    auto frame = expected.empty() ? shard.shard().frame() : shard.check_frame(expected[i]);
    if (!frame) return fail(frame.error());
    if (auto written = state.file.write(state.frames[i], *frame); !written) return written;
    if (state.digests[i].empty()) continue;
    if (auto written = state.file.write(state.shas[i], state.digests[i]); !written) return written;
  }
  return {};
}

Result<WrittenFile> NodeFileWriter::finish(std::span<const ShardEntry> expected, Workers& workers,
                                           const std::function<void()>& between) {
  auto written = write_regions(workers, between).and_then([&] { return write_frames(expected); });
  if (!written) return fail(written.error());
  const hdf5::Quiet quiet;
  return close(between);
}

// The table of places is the last object that HDF5 creates; after that, HDF5's own bytes are final.
Result<WrittenFile> NodeFileWriter::close(const std::function<void()>& between) {
  File& file = state_->file;
  const Buffer table = encode_places(std::move(state_->data));
  WrittenFile written;
  written.check.places = table.size() / kPlaceBytes;
  const auto place = hdf5::create_places(file, written.check.places);
  if (!place) return fail(place.error());
  written.check.table = *place;
  if (auto done = file.write(*place, table); !done) return fail(done.error());
  const auto size = file.close();
  if (!size) return fail(size.error());
  const auto digest = digest_outside(
      *size, table, [&](std::uint64_t offset, MutableBytes into) { return file.read_back(offset, into); }, between);
  if (!digest) return fail(digest.error());
  written.check.digest = *digest;
  const auto finished = file.finish();
  if (!finished) return fail(finished.error());
  written.bytes = *finished;
  return written;
}

}  // namespace cairn
