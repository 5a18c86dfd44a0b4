// Node files of the global store. HDF5 may end the process on a file that is not what it wrote; that is why Cairn
// compares a digest first, and that HDF5 opens nothing else is what is tried here. What HDF5 makes of damaged bytes is
// not.
#include <algorithm>

#include "format/hdf5/hdf5_file.hpp"
#include "format/hdf5/node_file_check.hpp"
#include "fuzz/target.hpp"
#include "level/global_level.hpp"
#include "store/memory/memory_store.hpp"
#include "support/counting_store.hpp"
#include "support/sample_shard.hpp"
#include "support/scripted_comm.hpp"
#include "support/write_node_file.hpp"

namespace cairn::fuzz {
namespace {

const DirName kDir = test::sample_dir();
const FileName kNodeFile = names::node_file(kDir, {0});
constexpr std::uint32_t kRanks = 2;

// A snapshot of two ranks on one node, as L4 has it.
struct Sample {
  GlobalManifest manifest;
  Buffer file;
  std::vector<Buffer> shards;

  Sample() {
    MemoryStore local;
    MemoryStore global;
    std::vector<FileName> names;
    manifest.identity = test::kSampleIdentity;
    manifest.layout.nodes = 1;
    for (std::uint32_t r = 0; r < kRanks; ++r) {
      const Rank rank{r};
      names.push_back(names::shard(kDir, rank));
      const test::SampleRegions regions(rank, 3);
      must(test::write_shard(local, names.back(), test::sample_identity(rank), regions.all()).has_value(), "written");
      manifest.shards.push_back(digest_shard(local, names.back(), {}).value());
      manifest.layout.node_of_rank.push_back({0});
      shards.push_back(test::read_all(local, names.back()));
    }
    const WrittenFile written = test::write_node_file(global, kNodeFile, local, names, {}).value();
    manifest.node_file_bytes = {written.bytes};
    manifest.node_files = {written.check};
    file = test::read_all(global, kNodeFile);
  }
};

// Made once: nothing changes it.
const Sample& sample() {
  static const Sample kSample;
  return kSample;
}

// Whether the bytes of the two files that HDF5 looks at are the same: all but the data.
bool same_outside_data(const Buffer& file, const Buffer& other) {
  if (file.size() != other.size()) return false;
  const NodeFileCheck& check = sample().manifest.node_files.front();
  ByteReader places(Bytes(file).subspan(check.table, check.places * kPlaceBytes));
  std::vector<bool> data(file.size());
  while (places.remaining() > 0) {
    const auto offset = places.get<std::uint64_t>();
    const auto bytes = places.get<std::uint64_t>();
    std::fill_n(data.begin() + static_cast<std::ptrdiff_t>(offset), bytes, true);
  }
  for (std::size_t i = 0; i < file.size(); ++i) {
    if (file[i] != other[i] && !data[i]) return false;
  }
  return true;
}

// How many bytes the file loses, u16; then its damages: offset, u32, and what is changed there, u8.
Buffer damaged_file(Bytes input) {
  ByteReader in(input);
  Buffer file = sample().file;
  const auto lost = in.get<std::uint16_t>();
  while (in.remaining() >= 5) {
    const auto offset = in.get<std::uint32_t>();
    file[offset % file.size()] ^= in.get<std::byte>();
  }
  file.resize(file.size() - std::min<std::size_t>(lost, file.size()));
  return file;
}

RestoreTask task_for_all() {
  RestoreTask task{sample().manifest.identity, {}, {}, nullptr};
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    task.deliveries.push_back({{rank}, {0}, LevelId::global, SharedShard{}});
  return task;
}

bool run_node_file(Bytes input) {
  const Buffer file = damaged_file(input);
  const auto global = std::make_shared<MemoryStore>();
  must(write_text(*global, names::manifest(kDir), to_json(sample().manifest)).has_value(), "the manifest is written");
  must(write_text(*global, kNodeFile, std::string(text_of(file))).has_value(), "the file is written");
  const auto counting = std::make_shared<test::CountingStore>(global);
  int opens = 0;
  counting->on_open = [&](const FileName& name) { opens += name == kNodeFile ? 1 : 0; };
  NodeContext node;
  node.layout = sample().manifest.layout;
  node.local = std::make_shared<MemoryStore>();
  node.global = counting;
  test::ScriptedComm heads(Peer{0}, 1, {});
  const auto outcome = GlobalLevel().restore(heads, node, task_for_all());
  must(outcome.has_value(), "a damaged file is no error of the restore");
  const bool may_open = same_outside_data(sample().file, file);
  must(may_open || opens == 1, "HDF5 opens no file whose digest is wrong: only the check has");
  must(may_open || outcome->arrived.empty(), "nothing arrives from a file whose digest is wrong");
  must(may_open || outcome->strikes.size() == kRanks, "a file whose digest is wrong is struck");
  std::size_t right = 0;
  for (const RestoreOutcome::Arrival& arrival : outcome->arrived) {
    const FileName name = names::shard(kDir, arrival.shard.rank);
    must(arrival.file && !node.local->open(name), "nothing has its name before it is verified");
    const auto shard = Shard::open(arrival.file->read_back(), name);
    if (!shard || !verify_shard(*shard, arrival.shard, *node.workers, [] {})) continue;
    must(arrival.file->commit().has_value(), "what is verified gets its name");
    must(test::read_all(*node.local, name) == sample().shards[arrival.shard.rank.value],
         "what is verified is what was written");
    ++right;
  }
  must(file != sample().file || right == kRanks, "a file that is whole gives back all");
  return right > 0;
}

// Where a table of places lies, u64, and how many it has, u64; then a file.
bool run_places(Bytes input) {
  ByteReader in(input);
  NodeFileCheck check;
  check.table = in.get<std::uint64_t>();
  check.places = in.get<std::uint64_t>();
  const Bytes file = in.get_bytes(in.remaining());
  MemoryStore store;
  must(write_text(store, kNodeFile, std::string(text_of(file))).has_value(), "a file is written");
  must(!check_node_file(store, kNodeFile, file.size(), check, {}), "a file without its digest is refused");
  if (check.places > file.size() / kPlaceBytes || check.table > file.size() - check.places * kPlaceBytes) return false;
  const Bytes table = file.subspan(check.table, check.places * kPlaceBytes);
  std::uint64_t outside = 0;
  const auto digest =
      digest_outside(file.size(), table,
                     [&](std::uint64_t offset, MutableBytes into) -> Status {
                       must(offset <= file.size() && into.size() <= file.size() - offset, "only the file is read");
                       std::ranges::copy(file.subspan(offset, into.size()), into.begin());
                       outside += into.size();
                       return {};
                     },
                     {});
  if (!digest) return false;
  must(outside <= file.size(), "no byte is read twice");
  check.digest = *digest;
  must(check_node_file(store, kNodeFile, file.size(), check, {}).has_value(), "a file with its digest is accepted");
  return true;
}

std::vector<Buffer> node_file_seeds() { return {Buffer(2)}; }

std::vector<Buffer> places_seeds() {
  ByteWriter out;
  out.put(std::uint64_t{8});
  out.put(std::uint64_t{2});
  out.put(std::uint64_t{0});
  out.put(encode_places({{48, 16}, {72, 8}}));
  out.pad_to(100);
  return {out.take()};
}

}  // namespace

std::vector<Target> hdf5_targets() {
  return {{"node_file", run_node_file, node_file_seeds}, {"places", run_places, places_seeds}};
}

}  // namespace cairn::fuzz
