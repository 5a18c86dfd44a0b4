#include "format/hdf5/hdf5_file.hpp"

#include <array>
#include <cstdio>
#include <fstream>

#include <gtest/gtest.h>

#include "format/hdf5/node_file_check.hpp"
#include "store/memory/memory_store.hpp"
#include "store/posix/posix_store.hpp"
#include "support/facts.hpp"
#include "support/faulty_store.hpp"
#include "support/sample_shard.hpp"
#include "support/temp_directory.hpp"
#include "support/write_node_file.hpp"

// HDF5 1.10 does not free all it has of a file in which it met damaged metadata (h5dump leaves the same behind).
extern "C" const char* __lsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  return "leak:libhdf5";
}

namespace cairn {
namespace {

using test::Fails;
using test::Names;
using test::SampleRegions;

const DirName kDir = test::sample_dir();

SampleRegions regions_of(Rank rank) {
  SampleRegions regions(rank, 6);
  regions.add({"50%b of ünïts.", ElementType::int32, 4, "", {3}, {}, {}}, rank.value);
  // On one rank each: another type.
  regions.add({"mixed", rank.value % 2 == 0 ? ElementType::int32 : ElementType::float32, 4, "", {3}, {}, {}}, 5);
  if (rank.value == 1) regions.add({"only here", ElementType::float64, 8, "", {2, 2}, {}, {}}, 6);
  // A column of a table with two rows, and ghosts around it.
  RegionInfo column{"column", ElementType::int32, 4, "", {4, 3}, {2, 4}, {0, rank.value % 4}};
  column.ghosts_before = column.ghosts_after = {1, 1};
  regions.add(std::move(column), rank.value);
  // Empty on rank 0.
  regions.add({"growing", ElementType::int32, 4, "", {rank.value}, {}, {}}, rank.value);
  return regions;
}

// Two ranks a node; their shards, digested, in `local`. Of shards with a SHA-256 of their blocks and of shards without
// one, this kind comes first, and they take turns.
std::vector<ShardEntry> write_shards(Store& local, std::uint32_t ranks, BlockDigest digest = BlockDigest::crc32c) {
  std::vector<ShardEntry> entries;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const SampleRegions regions = regions_of({r});
    const FileName name = names::shard(kDir, {r});
    EXPECT_TRUE(write_shard(local, name, test::sample_identity({r}), regions.all(), digest));
    digest = digest == BlockDigest::crc32c ? BlockDigest::sha256 : BlockDigest::crc32c;
    auto entry = digest_shard(local, name, {});
    EXPECT_TRUE(entry);
    entries.push_back(entry.value_or(ShardEntry{}));
  }
  return entries;
}

void write_snapshot(Store& local, Store& global, std::uint32_t ranks) {
  std::vector<RankRegions> all;
  for (std::uint32_t node = 0; node * 2 < ranks; ++node) {
    std::vector<FileName> shards;
    for (std::uint32_t r = node * 2; r < std::min(ranks, node * 2 + 2); ++r) {
      shards.push_back(names::shard(kDir, {r}));
      RankRegions rank{{r}, {node}, {}};
      const SampleRegions regions = regions_of({r});
      for (const auto& region : regions.all()) rank.regions.push_back(region.info);
      all.push_back(std::move(rank));
    }
    const auto written = test::write_node_file(global, names::node_file(kDir, {node}), local, shards, {});
    ASSERT_TRUE(written) << written.error().text();
    EXPECT_EQ(written->bytes, test::read_all(global, names::node_file(kDir, {node})).size());
  }
  const SnapshotNotes notes{"50 % caf\xe9",
                            {{{}, "cells", std::int64_t{-3}},
                             {{}, "empty", std::string()},
                             {{}, "time", 0.1},
                             {"no such region", "units", std::string("K")},
                             {"particles", "type", std::string("reserved")},
                             {"plate", "units", std::string("µm")}}};
  const auto master = write_master_file(global, kDir, all, notes);
  ASSERT_TRUE(master) << master.error().text();
}

Status rebuild_shard(const Store& global, const FileName& node_file, const ShardEntry& expected, Store& local,
                     const FileName& shard, const std::function<void()>& between) {
  ShardTarget target{local, shard};
  return restore_shard(global, node_file, expected, target, between).and_then([&] { return target.file.commit(); });
}

std::string output_of(const std::string& command) {
  std::string text;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen((command + " 2>&1").c_str(), "r"), pclose);
  std::array<char, 4096> part{};
  while (std::fgets(part.data(), part.size(), pipe.get()) != nullptr) text += part.data();
  return text;
}

// A global store on disk, gone with the test.
class OnDisk {
 public:
  OnDisk() : root_(testing::TempDir()), store_(PosixStore::open(root_.path(), "job").value()) {}
  [[nodiscard]] Store& store() { return *store_; }
  [[nodiscard]] std::string path(const FileName& name) const { return root_.path() + "/job/" + name.path; }

 private:
  test::TempDirectory root_;
  std::shared_ptr<Store> store_;
};

TEST(Hdf5NodeFile, rebuilds_every_shard_byte_for_byte) {
  MemoryStore local;
  MemoryStore global;
  const auto entries = write_shards(local, 2);
  write_snapshot(local, global, 2);
  MemoryStore other;
  for (const auto& entry : entries) {
    const FileName name = names::shard(kDir, entry.rank);
    const auto restored = rebuild_shard(global, names::node_file(kDir, {0}), entry, other, name, {});
    ASSERT_TRUE(restored) << restored.error().text();
    EXPECT_TRUE(verify_shard(other, name, entry, {}));
    EXPECT_EQ(test::read_all(other, name), test::read_all(local, name));
    EXPECT_TRUE(verify_node_shard(global, names::node_file(kDir, {0}), entry, {}));
  }
}

TEST(Hdf5NodeFile, calls_between_while_it_works) {
  MemoryStore local;
  MemoryStore global;
  SampleRegions regions;
  regions.add({"bulk", ElementType::uint8, 1, "", {20 * kMiB}, {}, {}}, 1);
  const FileName name = names::shard(kDir, {0});
  ASSERT_TRUE(write_shard(local, name, test::sample_identity({0}), regions.all()));
  const auto entry = digest_shard(local, name, {});
  int calls = 0;
  const auto count = [&] { ++calls; };
  ASSERT_TRUE(test::write_node_file(global, names::node_file(kDir, {0}), local, {name}, count));
  EXPECT_GE(calls, 4);
  calls = 0;
  EXPECT_TRUE(rebuild_shard(global, names::node_file(kDir, {0}), *entry, local, name, count));
  EXPECT_GE(calls, 4);
  calls = 0;
  EXPECT_TRUE(verify_node_shard(global, names::node_file(kDir, {0}), *entry, count));
  EXPECT_GE(calls, 4);
}

TEST(Hdf5NodeFile, verify_finds_damage_in_regions_and_in_frames) {
  MemoryStore local;
  MemoryStore global;
  const auto entries = write_shards(local, 1);
  write_snapshot(local, global, 1);
  const FileName name = names::node_file(kDir, {0});
  const Buffer file = test::read_all(global, name);
  const SampleRegions regions = regions_of({0});
  const auto place_of = [&](Bytes bytes) {
    const auto found = std::search(file.begin(), file.end(), bytes.begin(), bytes.end());
    EXPECT_NE(found, file.end());
    return static_cast<std::uint64_t>(found - file.begin());
  };
  ASSERT_TRUE(global.corrupt(name, place_of(regions.all()[0].bytes) + 9));
  const auto damaged = verify_node_shard(global, name, entries[0], {});
  EXPECT_THAT(damaged, Fails(Code::corrupt, {name.path, "rank 0", "block 0", "1", "CRC-32C"}));
  ASSERT_TRUE(global.corrupt(name, place_of(bytes_of("CAIRNSHD")) + 50));
  EXPECT_FALSE(verify_node_shard(global, name, entries[0], {}));
  EXPECT_FALSE(rebuild_shard(global, name, entries[0], local, names::shard(kDir, {0}), {}));
}

TEST(Hdf5NodeFile, no_damaged_byte_gives_another_shard) {
  MemoryStore local;
  MemoryStore global;
  const auto entries = write_shards(local, 1);
  write_snapshot(local, global, 1);
  const FileName name = names::node_file(kDir, {0});
  const Buffer right = test::read_all(local, names::shard(kDir, {0}));
  const std::uint64_t size = test::read_all(global, name).size();
  for (std::uint64_t at = 0; at < size; at += 13) {
    ASSERT_TRUE(global.corrupt(name, at));
    MemoryStore other;
    const FileName shard = names::shard(kDir, {0});
    if (rebuild_shard(global, name, entries[0], other, shard, {})) {
      EXPECT_EQ(test::read_all(other, shard), right) << at;
    }
    ASSERT_TRUE(global.corrupt(name, at));
  }
}

// HDF5 opens nothing that the check refuses; what the check lets pass is data, with digests of its own.
class DamagedNodeFile : public testing::TestWithParam<BlockDigest> {};
INSTANTIATE_TEST_SUITE_P(, DamagedNodeFile, testing::Values(BlockDigest::crc32c, BlockDigest::sha256),
                         [](const auto& tried) { return tried.param == BlockDigest::crc32c ? "crc32c" : "sha256"; });

TEST_P(DamagedNodeFile, is_found_by_the_check_or_is_data) {
  MemoryStore local;
  MemoryStore global;
  const auto entries = write_shards(local, 1, GetParam());
  const FileName name = names::node_file(kDir, {0});
  const auto written = test::write_node_file(global, name, local, {names::shard(kDir, {0})}, {});
  ASSERT_TRUE(written);
  const auto check = [&] { return check_node_file(global, name, written->bytes, written->check, {}); };
  ASSERT_TRUE(check()) << check().error().text();
  std::uint64_t data = 0;
  for (std::uint64_t at = 0; at < written->bytes; ++at) {
    ASSERT_TRUE(global.corrupt(name, at));
    if (check()) {
      ++data;
      EXPECT_FALSE(verify_node_shard(global, name, entries[0], {})) << at;
    }
    ASSERT_TRUE(global.corrupt(name, at));
  }
  const Shard shard = Shard::open(local, names::shard(kDir, {0})).value();
  std::uint64_t expected = shard.frame()->size();
  for (const PlacedRegion& region : shard.regions()) expected += region.info.size_bytes();
  EXPECT_EQ(data, expected);
}

TEST(Hdf5NodeFile, of_another_length_or_with_another_table_is_named) {
  MemoryStore local;
  MemoryStore global;
  write_shards(local, 1);
  const FileName name = names::node_file(kDir, {0});
  const WrittenFile written = test::write_node_file(global, name, local, {names::shard(kDir, {0})}, {}).value();
  const auto checked = [&](std::uint64_t bytes, NodeFileCheck check) {
    return check_node_file(global, name, bytes, check, {});
  };
  NodeFileCheck check = written.check;
  EXPECT_TRUE(checked(written.bytes, check));
  EXPECT_THAT(checked(written.bytes + 1, check),
              Fails(Code::corrupt, {name.path, std::to_string(written.bytes), std::to_string(written.bytes + 1)}));
  check.table = written.bytes - 8;
  EXPECT_THAT(checked(written.bytes, check),
              Fails(Code::corrupt, {name.path, std::to_string(check.table), std::to_string(written.bytes)}));
  check.table = 0;
  EXPECT_THAT(checked(written.bytes, check), Fails(Code::corrupt, {name.path, "0", std::to_string(written.bytes)}));
  check.places = ~std::uint64_t{0};
  EXPECT_THAT(checked(written.bytes, check),
              Fails(Code::corrupt, {name.path, std::to_string(check.places), std::to_string(written.bytes)}));
}

TEST(Hdf5NodeFile, a_missing_rank_a_missing_file_and_a_cut_file_are_named) {
  MemoryStore local;
  MemoryStore global;
  auto entry = write_shards(local, 1)[0];
  write_snapshot(local, global, 1);
  const FileName name = names::node_file(kDir, {0});
  const FileName shard = names::shard(kDir, {5});
  entry.rank = {5};
  const auto missing = rebuild_shard(global, name, entry, local, shard, {});
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing, Fails(Code::corrupt, {"node0000.h5", "/cairn/rank000005"}));
  EXPECT_EQ(rebuild_shard(global, names::node_file(kDir, {9}), entry, local, shard, {}).error().code, Code::not_found);
  ASSERT_TRUE(global.truncate(name, test::read_all(global, name).size() / 2));
  entry.rank = {0};
  const auto cut = rebuild_shard(global, name, entry, local, shard, {});
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, Code::corrupt);
  EXPECT_THAT(cut, Fails(Code::corrupt, {"node0000.h5"}));
}

TEST(Hdf5NodeFile, a_full_store_is_an_error_that_leaves_nothing_behind) {
  MemoryStore local;
  write_shards(local, 2);
  const std::vector<FileName> shards{names::shard(kDir, {0}), names::shard(kDir, {1})};
  // From too small for the reservation to too small for the end.
  for (const std::uint64_t capacity : {kMiB, kMiB + 20 * kKiB, 2 * kMiB}) {
    MemoryStore global(capacity);
    const FileName name = names::node_file(kDir, {0});
    const auto written = test::write_node_file(global, name, local, shards, {});
    if (capacity == 2 * kMiB) {
      EXPECT_TRUE(written);
    } else {
      ASSERT_FALSE(written);
      EXPECT_EQ(written.error().code, Code::no_space);
      EXPECT_FALSE(global.open(name));
    }
  }
}

TEST(Hdf5NodeFile, a_failure_at_any_operation_of_the_store_is_reported_and_leaves_no_file) {
  MemoryStore local;
  write_shards(local, 2);
  const std::vector<FileName> shards{names::shard(kDir, {0}), names::shard(kDir, {1})};
  const FileName name = names::node_file(kDir, {0});
  bool failed = true;
  std::uint64_t n = 0;
  for (; failed; ++n) {
    const auto memory = std::make_shared<MemoryStore>();
    const auto plan = std::make_shared<test::FaultPlan>();
    // Once, so that what HDF5 does afterwards would succeed and could hide it.
    plan->fail_once_at(n);
    plan->inject_code(Code::no_space);
    test::FaultyStore global(memory, plan);
    const auto written = test::write_node_file(global, name, local, shards, {});
    failed = plan->has_failed();
    ASSERT_EQ(written.has_value(), !failed) << n;
    ASSERT_EQ(memory->open(name).has_value(), !failed) << n;
    if (failed) {
      ASSERT_EQ(written.error().code, Code::no_space) << written.error().text();
    }
  }
  EXPECT_GT(n, 10U);
}

TEST(Hdf5NodeFile, shards_of_two_snapshots_are_not_put_into_one_file) {
  MemoryStore local;
  MemoryStore global;
  write_shards(local, 1);
  auto other = test::sample_identity({1});
  other.identity.version = {43};
  ASSERT_TRUE(write_shard(local, names::shard(kDir, {1}), other, regions_of({1}).all()));
  const std::vector<FileName> shards{names::shard(kDir, {0}), names::shard(kDir, {1})};
  EXPECT_EQ(test::write_node_file(global, names::node_file(kDir, {0}), local, shards, {}).error().code,
            Code::invalid_argument);
}

TEST(Hdf5NodeFile, ten_thousand_regions_come_back) {
  MemoryStore local;
  MemoryStore global;
  SampleRegions regions;
  for (int i = 0; i < 10'000; ++i) {
    regions.add({"region " + std::to_string(i), ElementType::int32, 4, "", {3}, {}, {}}, static_cast<unsigned>(i));
  }
  const FileName name = names::shard(kDir, {0});
  ASSERT_TRUE(write_shard(local, name, test::sample_identity({0}), regions.all()));
  const auto entry = digest_shard(local, name, {});
  ASSERT_TRUE(test::write_node_file(global, names::node_file(kDir, {0}), local, {name}, {}));
  MemoryStore other;
  ASSERT_TRUE(rebuild_shard(global, names::node_file(kDir, {0}), *entry, other, name, {}));
  EXPECT_TRUE(verify_shard(other, name, *entry, {}));
}

TEST(Hdf5Files, h5dump_run_elsewhere_follows_links_and_virtual_datasets) {
  OnDisk disk;
  MemoryStore local;
  write_shards(local, 3);
  write_snapshot(local, disk.store(), 3);
  const std::string dump = "cd / && h5dump -m %.0f ";
  const std::string master = disk.path(names::master_file(kDir));
  const std::string steps = output_of(dump + "-d /arrays/step " + master);
  EXPECT_THAT(steps, Names({"(2): 3000"}));
  const std::string plate = output_of(dump + "-d /rank000002/plate " + master);
  EXPECT_THAT(plate, Names({"SIMPLE { ( 8, 4 ) / ( 8, 4 ) }"}));
  EXPECT_THAT(plate, Names({"(1,0): 2004"}));
  const std::string joined = output_of(dump + "-d /arrays/plate " + master);
  EXPECT_THAT(joined, Names({"SIMPLE { ( 21, 4 ) / ( 21, 4 ) }"}));
  EXPECT_THAT(joined, Names({"(13,0): 2000"}));
  const std::string attributes = output_of(dump + "-g /cairn " + master);
  EXPECT_THAT(attributes, Names({"(0): \"0123456789abcdef\""}));
  EXPECT_THAT(attributes, Names({"(0): 42"}));
  const std::string particles =
      output_of(dump + "-H -d /rank000000/particles " + disk.path(names::node_file(kDir, {0})));
  EXPECT_THAT(particles, Names({"OPAQUE_TAG \"\""}));
  EXPECT_THAT(particles, Names({"ATTRIBUTE \"type\""}));
}

TEST(Hdf5Files, h5py_reads_every_value_through_the_master) {
  OnDisk disk;
  MemoryStore local;
  write_shards(local, 4);
  write_snapshot(local, disk.store(), 4);
  const std::string script = disk.path(FileName{"read.py"});
  std::ofstream(script) << R"py(
import os, sys, h5py, numpy as np
f = h5py.File(sys.argv[1], "r")
for r in range(4):
    g = f["rank%06d" % r]
    assert g["plate"].dtype == np.dtype("<f8") and g["plate"].shape == (6 + r, 4)
    assert (g["plate"][...].ravel() == r * 1000 + np.arange(4 * (6 + r))).all()
    assert g["step"].shape == () and g["step"][()] == (r + 1) * 1000
    assert g["nothing"].shape == (0,) and g["particles"].shape == (5,)
    assert (g["field"][...].ravel() == (r + 3) * 1000 + np.arange(6, dtype="f4")).all()
    assert g["particles"].attrs["type"] == b"Particle"
a = f["arrays"]
assert sorted(a.keys()) == sorted(["plate", "step", "nothing", "particles", "field", "50%b of ünïts.",
                                   "only here", "growing", "column"]), list(a.keys())
assert (a["plate"][...] == np.concatenate([f["rank%06d/plate" % r][...] for r in range(4)])).all()
plate = a["plate"][...]
assert a["field"].shape == (8, 3)
assert (a["field"][...] == np.concatenate([f["rank%06d/field" % r][...] for r in range(4)])).all()
assert (a["step"][...] == [1000, 2000, 3000, 4000]).all()
assert (a["50%b of ünïts."][...] == np.concatenate([r * 1000 + np.arange(3) for r in range(4)])).all()
assert (a["growing"][...] == np.concatenate([r * 1000 + np.arange(r) for r in range(4)])).all()
assert (a["column"][...] == [[r * 1000 + 3 * i + 1 for r in range(4)] for i in (1, 2)]).all()
assert a["nothing"].shape == (0,) and a["only here"].shape == (2, 2) and a["particles"].shape == (20,)
parts = [f["rank%06d/particles" % r][...].tobytes() for r in range(4)]
assert a["particles"][...].tobytes() == b"".join(parts) and len(set(parts)) == 4
assert a["particles"].attrs["type"] == b"Particle" and a["particles"].dtype == np.dtype("V24")
# A struct of three numbers, as numpy sees it.
assert a["particles"][...].view([("x", "<f8"), ("y", "<f8"), ("z", "<f8")]).shape == (20,)
c = f["cairn"].attrs
assert c["format"] == 2 and c["incarnation"] == 3 and c["version"] == 42 and c["safe_point"] == 77
assert bytes(c["run_id"]) == b"0123456789abcdef"
n = f.attrs
assert n["label"] == "50 % caf\\xe9", repr(n["label"])
assert n["cells"] == -3 and n["time"] == 0.1 and n["empty"] == "", repr(dict(n))
assert a["plate"].attrs["units"] == "µm" and sorted(n.keys()) == ["cells", "empty", "label", "time"]
f.close()
os.remove(sys.argv[2])
a = h5py.File(sys.argv[1], "r")["arrays"]
# What the lost file held is nothing, and not zero.
assert np.isnan(a["plate"][13:]).all() and (a["plate"][:13] == plate[:13]).all() and (a["step"][2:] == 0).all()
print("all is well")
)py";
  const std::string said = output_of("cd / && /usr/bin/python3 " + script + " " + disk.path(names::master_file(kDir)) +
                                     " " + disk.path(names::node_file(kDir, {1})));
  EXPECT_EQ(said, "all is well\n");
}

TEST(Hdf5Master, without_its_node_files_is_an_error) {
  MemoryStore global;
  EXPECT_EQ(write_master_file(global, kDir, {{{0}, {0}, {}}}).error().code, Code::not_found);
}

}  // namespace
}  // namespace cairn
