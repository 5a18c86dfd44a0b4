// ckpt-tool export, as a user would run it on stores as a job left them, and on damaged ones.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/shard_header.hpp"
#include "run_tool.hpp"
#include "sample_job.hpp"
#include "store/names.hpp"

namespace cairn::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::uint64_t kRowsOfRank = 3000;  // of each rank's plate, as sample_job.cpp has it
constexpr std::uint32_t kRanksOfJob = kNodes * kRanksPerNode;

// The array of a .npy file, after its header, which must be of this type and shape.
template <class T>
std::vector<T> read_npy(const std::string& file, const std::string& description) {
  const std::string all = read_whole(file);
  const std::size_t header = 10 + static_cast<unsigned char>(all.at(8)) + 256U * static_cast<unsigned char>(all.at(9));
  EXPECT_EQ(header % 64, 0U);
  EXPECT_THAT(all.substr(0, header), HasSubstr(description));
  std::vector<T> values((all.size() - header) / sizeof(T));
  std::memcpy(values.data(), all.data() + header, values.size() * sizeof(T));
  return values;
}

std::vector<double> plate_of(std::uint32_t rank, std::uint32_t version) {
  std::vector<double> plate(kRowsOfRank * 4);
  for (std::size_t i = 0; i < plate.size(); ++i) plate[i] = static_cast<double>(i * (rank + 1) + version);
  return plate;
}
std::vector<double> whole_plate(std::uint32_t version) {
  std::vector<double> all;
  for (std::uint32_t rank = 0; rank < kRanksOfJob; ++rank) {
    const auto plate = plate_of(rank, version);
    all.insert(all.end(), plate.begin(), plate.end());
  }
  return all;
}

class Export : public testing::Test {
 protected:
  [[nodiscard]] std::string to(const std::string& name) const { return job.root() + "/" + name; }
  [[nodiscard]] Outcome run(const std::string& arguments, const std::string& name) const {
    return run_on(job, "export " + arguments + " --to " + to(name));
  }
  // The plate is exported, and right; what was said of it.
  std::string expect_plate(std::uint32_t version) {
    const std::string name = "plate" + std::to_string(++exported_) + ".npy";
    const Outcome outcome = run(std::to_string(version) + " plate", name);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_EQ(read_npy<double>(to(name), "'<f8', 'fortran_order': False, 'shape': (24000, 4)"), whole_plate(version));
    return outcome.out;
  }
  void lose_copies(std::uint32_t version) const {
    for (std::uint32_t rank = 0; rank < kRanksOfJob; ++rank) fs::remove(job.copy(rank, version));
  }
  SampleJob job;

 private:
  int exported_ = 0;
};

TEST_F(Export, joins_the_parts_of_all_ranks) {
  job.add_snapshot(1, {LevelId::local});
  EXPECT_THAT(expect_plate(1), HasSubstr("8 ranks from L1\n  plate: float64[24000][4]\n"));
}

TEST_F(Export, takes_what_a_lost_node_had_from_copies) {
  job.add_snapshot(1, {LevelId::local, LevelId::partner});
  job.lose_node(1);
  EXPECT_THAT(expect_plate(1), HasSubstr("6 ranks from L1, 2 ranks from L2"));
}

TEST_F(Export, computes_what_lost_nodes_had_from_parity) {
  job.add_snapshot(1, {LevelId::local, LevelId::erasure});
  job.lose_node(0);
  job.lose_node(2);
  EXPECT_THAT(expect_plate(1), HasSubstr("4 ranks from L1, 4 ranks from L3"));
}

TEST_F(Export, computes_with_data_that_it_has_only_as_copies) {
  job.add_snapshot(1, kUpToErasure);
  job.lose_node(0);
  job.lose_node(1);  // with the copies of node 0; those of its own are on node 2
  EXPECT_THAT(expect_plate(1), HasSubstr("4 ranks from L1, 2 ranks from L2, 2 ranks from L3"));
}

TEST_F(Export, reads_the_files_of_the_global_store) {
  job.add_snapshot(1, kEveryLevel);
  for (std::uint32_t node = 0; node < kNodes; ++node) job.lose_node(node);
  const Outcome outcome = run("newest plate", "plate.npy");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("8 ranks from L4"));
  EXPECT_EQ(read_npy<double>(to("plate.npy"), "(24000, 4)"), whole_plate(1));
}

// A shard that is whole, but of another snapshot; and a byte of a block.
TEST_F(Export, reads_around_damage) {
  for (const BlockDigest digest : {BlockDigest::crc32c, BlockDigest::sha256}) {
    const std::uint32_t version = digest == BlockDigest::crc32c ? 1 : 3;
    job.write_with(digest);
    job.add_snapshot(version, kEveryLevel);
    job.add_snapshot(version + 1, {LevelId::local});
    fs::copy_file(job.shard(4, version + 1), job.shard(4, version), fs::copy_options::overwrite_existing);
    EXPECT_THAT(expect_plate(version), HasSubstr("7 ranks from L1, 1 rank from L2"));
    flip_byte(job.shard(3, version), 3 * kShardHeaderBytes);
    EXPECT_THAT(expect_plate(version), HasSubstr("6 ranks from L1, 2 ranks from L2"));
    flip_middle_byte(job.copy(3, version));
    EXPECT_THAT(expect_plate(version), HasSubstr("6 ranks from L1, 1 rank from L2, 1 rank from L"));
  }
}

TEST_F(Export, reads_around_damage_in_what_a_shard_is_computed_from) {
  job.add_snapshot(1, kEveryLevel);
  lose_copies(1);
  job.lose_node(0);
  flip_middle_byte(job.parity(1, 0, 1));
  flip_middle_byte(job.shard(5, 1));
  EXPECT_THAT(expect_plate(1), HasSubstr("from L"));
}

TEST_F(Export, never_writes_damaged_data) {
  job.add_snapshot(1, {LevelId::local});
  flip_middle_byte(job.shard(3, 1));
  const Outcome outcome = run("1 plate", "plate.npy");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("rank000003.shard"));
  EXPECT_THAT(outcome.err, HasSubstr("CRC-32C"));
  EXPECT_FALSE(fs::exists(to("plate.npy")));
  EXPECT_FALSE(fs::exists(to("plate.npy.part")));
}

TEST_F(Export, says_which_nodes_are_missing) {
  job.add_snapshot(1, {LevelId::local});
  job.lose_node(2);
  const Outcome outcome = run("1", "plate.npy");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("version 1: no source for ranks 4, 5 (node 2 is lost)"));
  EXPECT_THAT(outcome.err, HasSubstr("--partial"));
}

TEST_F(Export, says_why_there_is_no_snapshot) {
  job.add_snapshot(1, {LevelId::local});
  for (std::uint32_t node = 0; node < kNodes; ++node) flip_middle_byte(job.node(node, 1) + "/manifest.json");
  const Outcome outcome = run("1", "plate.npy");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("manifest.json: "));
  EXPECT_THAT(outcome.err, HasSubstr("no snapshots of job heat"));
}

TEST_F(Export, leaves_lost_ranks_out_if_asked) {
  job.add_snapshot(1, {LevelId::local});
  job.lose_node(2);
  const Outcome outcome = run("1 --partial", "some");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("left out: ranks 4-5: "));
  const auto plate = read_npy<double>(to("some/plate.npy"), "(24000, 4)");
  const auto expected = whole_plate(1);
  for (std::size_t i = 0; i < plate.size(); ++i) {
    const bool lost = i / (kRowsOfRank * 4) == 4 || i / (kRowsOfRank * 4) == 5;
    ASSERT_TRUE(lost ? std::isnan(plate[i]) : plate[i] == expected[i]) << i;
  }
  // Nobody knows where the others' belong.
  EXPECT_FALSE(fs::exists(to("some/step.npy")));
  EXPECT_EQ(read_npy<std::int32_t>(to("some/step.rank000007.npy"), "'<i4', 'fortran_order': False, 'shape': ()"),
            std::vector<std::int32_t>{1});
}

TEST_F(Export, writes_all_regions_into_a_directory) {
  job.add_snapshot(3, {LevelId::local});
  const Outcome outcome = run("3", "all");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(read_npy<double>(to("all/plate.npy"), "(24000, 4)"), whole_plate(3));
  EXPECT_EQ(read_npy<std::int32_t>(to("all/step.npy"), "'<i4', 'fortran_order': False, 'shape': (8,)"),
            std::vector<std::int32_t>(kRanksOfJob, 3));
  EXPECT_FALSE(fs::exists(to("all.part")));
}

TEST_F(Export, writes_an_hdf5_file) {
  job.add_snapshot(3, {LevelId::local, LevelId::partner});
  job.lose_node(3);
  const Outcome outcome = run("3", "all.h5");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::string script = to("read.py");
  std::ofstream(script) << R"py(
import sys, h5py, numpy as np
f = h5py.File(sys.argv[1], "r")
a = f["arrays"]
assert sorted(a) == ["plate", "step"] and f["cairn"].attrs["version"] == 3
p = a["plate"][...]
assert p.shape == (24000, 4) and p.dtype == "<f8"
assert (p == np.concatenate([np.arange(12000.0).reshape(3000, 4) * (r + 1) + 3 for r in range(8)])).all()
assert (a["step"][...] == np.full(8, 3)).all() and a["step"].dtype == "<i4"
)py";
  EXPECT_EQ(std::system(("/usr/bin/python3 " + script + " " + to("all.h5")).c_str()), 0);
}

TEST_F(Export, of_one_rank_needs_no_other) {
  job.add_snapshot(1, {LevelId::local});
  job.lose_node(0);
  const Outcome outcome = run("1 plate --rank 5", "plate.npy");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("1 rank from L1\n  plate of rank 5: float64[3000][4]\n"));
  EXPECT_EQ(read_npy<double>(to("plate.npy"), "(3000, 4)"), plate_of(5, 1));
  const Outcome lost = run("1 plate --rank 1", "other.npy");
  EXPECT_EQ(lost.code, 2);
  EXPECT_THAT(lost.err, HasSubstr("no source for ranks 0, 1"));
}

TEST_F(Export, of_one_rank_reads_around_damage_though_another_rank_has_no_source) {
  job.add_snapshot(1, {LevelId::local, LevelId::partner});
  job.lose_node(0);  // with its shards, and with the copies of node 3
  fs::remove(job.copy(1, 1));
  flip_byte(job.shard(3, 1), 3 * kShardHeaderBytes);
  flip_byte(job.shard(6, 1), 3 * kShardHeaderBytes);
  const Outcome outcome = run("1 plate --rank 3", "plate.npy");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("1 rank from L2"));
  EXPECT_EQ(read_npy<double>(to("plate.npy"), "(3000, 4)"), plate_of(3, 1));
}

TEST_F(Export, of_the_newest_takes_one_that_is_whole) {
  job.add_snapshot(1, kEveryLevel);
  job.add_snapshot(2, {LevelId::local});
  job.lose_node(0);
  const Outcome outcome = run("newest plate", "plate.npy");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("version 1 "));
  EXPECT_THAT(outcome.err, HasSubstr("version 2 is passed over: no source for ranks 0, 1 (node 0 is lost)"));
}

TEST_F(Export, by_a_label_takes_the_newest_with_it) {
  for (const std::uint32_t version : {1U, 2U, 3U}) {
    job.note({version < 3 ? "peak" : "", {}});
    job.add_snapshot(version, {LevelId::local});
  }
  const Outcome outcome = run("peak plate", "plate.npy");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("version 2 "));
  EXPECT_THAT(run("peek plate", "other.npy").err, HasSubstr("peek is no version, and no snapshot has this label"));
}

// What cannot be read is not as if it were not there.
TEST_F(Export, of_the_newest_names_what_cannot_be_read_of_newer_ones) {
  job.add_snapshot(1, {LevelId::local});
  job.add_snapshot(2, {LevelId::local});
  for (std::uint32_t node = 0; node < kNodes; ++node) flip_middle_byte(job.node(node, 2) + "/manifest.json");
  const Outcome outcome = run("newest plate", "plate.npy");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("version 1 "));
  EXPECT_THAT(outcome.err, HasSubstr("v00000002-0123456789abcdef/manifest.json: "));
}

TEST_F(Export, changes_no_store) {
  job.add_snapshot(1, kEveryLevel);
  job.lose_node(1);
  const auto files = [&](const std::string& root) {
    std::map<std::string, std::pair<std::uintmax_t, fs::file_time_type>> found;
    for (const auto& entry : fs::recursive_directory_iterator(root))
      found[entry.path()] = {entry.is_directory() ? 0 : entry.file_size(), entry.last_write_time()};
    return found;
  };
  const auto local = files(job.local());
  const auto global = files(job.global());
  expect_plate(1);
  EXPECT_EQ(files(job.local()), local);
  EXPECT_EQ(files(job.global()), global);
}

TEST_F(Export, replaces_nothing) {
  job.add_snapshot(1, {LevelId::local});
  for (const std::string name : {"there.npy", "there.h5", "there"}) {
    std::ofstream(to(name)) << "mine";
    const Outcome outcome = run("1 plate", name);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr(name + " exists (remove it, or give another name)"));
    EXPECT_EQ(read_whole(to(name)), "mine");
    std::ofstream(to("new" + name + ".part")) << "mine";
    EXPECT_EQ(run("1 plate", "new" + name).code, 2);
    EXPECT_EQ(read_whole(to("new" + name + ".part")), "mine");
  }
}

TEST_F(Export, names_what_is_wrong_with_the_arguments) {
  job.add_snapshot(1, {LevelId::local});
  const auto error_of = [&](const std::string& arguments, const std::string& name) {
    const Outcome outcome = run(arguments, name);
    EXPECT_EQ(outcome.code, 2);
    return outcome.err;
  };
  EXPECT_THAT(error_of("1 plat", "a.npy"), HasSubstr("there is no region plat (there are: plate, step)"));
  EXPECT_THAT(error_of("7", "a"), HasSubstr("no version 7 of job heat"));
  EXPECT_THAT(error_of("7x", "a"), HasSubstr("7x is no version"));
  EXPECT_THAT(error_of("1 --rank 8", "a"), HasSubstr("version 1 has no rank 8 (it has the ranks 0 to 7)"));
  EXPECT_THAT(error_of("1", "a.npy"), HasSubstr("has one array, but there are 2 regions"));
  EXPECT_THAT(error_of("1 plate", "no/such/a.npy"), HasSubstr("a.npy.part: cannot make: No such file"));
  EXPECT_EQ(run_tool("export --global " + to("nothing") + " 1 --to " + to("a")).code, 2);
}

}  // namespace
}  // namespace cairn::test
