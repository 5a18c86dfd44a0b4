// cairn::run over real ranks and directories: on one real node, on simulated ones of uneven sizes, in all head modes.
// The first argument is `multiple` (MPI is started for several threads) or `single`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <cairn/cairn.hpp>

#include "format/call_record.hpp"
#include "repair/failure_vote.hpp"
#include "store/names.hpp"
#include "support/facts.hpp"
#include "support/job.hpp"
#include "support/log_reading.hpp"
#include "support/mpi_end_on_failure.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

// Rank 0 logs an error that all have, and nobody else does.
void expect_one_error(const LogReading& reading, const Things& things) {
  if (world_rank() == 0) {
    EXPECT_THAT(reading.errors(), ElementsAre(Names(things)));
  } else {
    EXPECT_THAT(reading.errors(), IsEmpty());
  }
}

// A job with directories of its own, which vanish with it. The same on all ranks.
class MpiJob {
 public:
  explicit MpiJob(const std::string& settings) : settings_(settings) {
    char name[] = "/tmp/cairn-run-XXXXXX";
    if (world_rank() == 0 && mkdtemp(name) == nullptr) std::abort();
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    directory_ = name;
    configure("");
  }
  ~MpiJob() { remove(""); }
  MpiJob(const MpiJob&) = delete;
  MpiJob& operator=(const MpiJob&) = delete;

  // More settings, for the runs to come. Where there is no [head], nodes have heads.
  void configure(const std::string& more) {
    if (world_rank() == 0) {
      std::ofstream ini(directory_ + "/cairn.ini");
      ini << "[storage]\nlocal = " << directory_ << "/local\nglobal = " << directory_ << "/global\n"
          << "[log]\nlevel = error\n"
          << settings_ << more;
      if ((settings_ + more).find("[head]") == std::string::npos) ini << "[head]\nmode = rank\n";
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  void lose_node(int node) {
    char name[32];
    std::snprintf(name, sizeof name, "local/node%04d", node);
    remove(name);
  }
  void run(const std::function<void(Session&)>& application) { EXPECT_EQ(code_of(application), EXIT_SUCCESS); }
  // That of run().
  int code_of(const std::function<void(Session&)>& application) {
    const int code = cairn::run(MPI_COMM_WORLD, directory_ + "/cairn.ini", application);
    MPI_Barrier(MPI_COMM_WORLD);
    return code;
  }
  // Where what this rank says to MPI is written down, if it is.
  [[nodiscard]] std::vector<std::string> call_files(Rank rank) const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_ + "/local")) {
      if (entry.path().filename() == std::filesystem::path(names::calls(rank).path).filename())
        found.push_back(entry.path());
    }
    return found;
  }
  // Goes on from step `from`, and takes `count` more.
  void go(std::uint32_t from, std::uint32_t count) {
    MPI_Comm comm = MPI_COMM_NULL;
    int size = 0;
    run([&](Session& session) {
      Steps steps(session);
      EXPECT_EQ(steps.restore(), from);
      comm = session.comm();
      MPI_Comm_size(comm, &size);
      EXPECT_EQ(static_cast<std::uint32_t>(size), session.size());
      steps.advance_by(count);
      steps.wait_for_all();
    });
    // The application's still, without the heads.
    if (comm == MPI_COMM_NULL) return;
    int sum = 1;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, comm);
    EXPECT_EQ(sum, size);
  }

 private:
  void remove(const std::string& name) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank() == 0) std::filesystem::remove_all(directory_ + "/" + name);
    MPI_Barrier(MPI_COMM_WORLD);
  }

  std::string settings_;
  std::string directory_;
};

constexpr const char* kContinue = "[restart]\nat_end = continue\n";

TEST(OneNode, works_with_everything_left_at_its_default) {
  MpiJob job(kContinue);
  job.go(0, 5);
  job.go(5, 3);
  job.run([](Session& session) {
    EXPECT_EQ(session.size(), 3U);
    EXPECT_THAT(thrown_by([&] { session.snapshot(LevelId::partner); }), Fails(ErrorKind::usage, {"L2"}));
    EXPECT_THAT(thrown_by([&] { session.snapshot(LevelId::erasure); }), Fails(ErrorKind::usage, {"L3"}));
  });
}

TEST(OneNode, refuses_thread_mode_without_MPI_THREAD_MULTIPLE_and_says_what_to_do) {
  MpiJob job(kContinue);
  job.configure("[head]\nmode = thread\n");
  const LogReading reading;
  EXPECT_EQ(job.code_of([](Session&) {}), EXIT_FAILURE);
  expect_one_error(reading, {"MPI_Init_thread"});
}

// All ranks learn how the job ends, and nobody is ended by MPI_Abort: the process goes on.
TEST(OneNode, ends_with_one_line_when_all_ranks_leave_the_application_by_an_exception) {
  MpiJob job(kContinue);
  for (const char* mode : {"rank", "inline"}) {
    job.configure(fmt::format("[head]\nmode = {}\n", mode));
    const LogReading reading;
    const int code = job.code_of(
        [](Session& session) { throw std::runtime_error(fmt::format("rank {} has had enough", session.rank())); });
    // A head has served, and has no part in it.
    EXPECT_TRUE(code == EXIT_FAILURE || world_rank() == world_size() - 1);
    expect_one_error(reading, {"rank 0 has had enough"});
  }
}

// Rank 2 has the region that the others lack. restore() fails on all ranks, and nothing is lost.
TEST(OneNode, ends_with_one_line_when_regions_differ_from_those_of_the_snapshot) {
  MpiJob job(kContinue);
  int step = 3;
  job.run([&](Session& session) {
    session.protect("step", step);
    session.snapshot();
  });
  {
    const LogReading reading;
    (void)job.code_of([&](Session& session) {
      session.protect("stride", step);
      session.restore();
    });
    expect_one_error(reading, {"stride"});
  }
  int restored = 0;
  job.run([&](Session& session) {
    session.protect("step", restored);
    session.restore();
    EXPECT_EQ(restored, 3);
  });
}

// Each rank has an error alone, one after the other. None of them may leave it to another to tell.
TEST(OneNode, tells_each_error_that_one_rank_has_alone) {
  FailureVote vote(MPI_COMM_WORLD);
  for (int who = 0; who < world_size(); ++who) {
    if (who == world_rank()) {
      EXPECT_EQ(vote.settle(true, std::chrono::seconds(1), [] { ADD_FAILURE() << "nobody else has failed"; }),
                std::nullopt);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  vote.leave_to_mpi();
}

// The first rank that has failed tells it, once, and all have the same answer.
TEST(OneNode, tells_an_error_that_several_ranks_have_once) {
  FailureVote vote(MPI_COMM_WORLD);
  int told = 0;
  const bool failed = world_rank() >= 2;
  EXPECT_EQ(vote.settle(failed, std::chrono::seconds(60), [&] { ++told; }), 2U);
  EXPECT_EQ(told, world_rank() == 2 ? 1 : 0);
  EXPECT_EQ(vote.settle(false, std::chrono::seconds(60), [&] { ++told; }), 4U);
  MPI_Barrier(MPI_COMM_WORLD);
}

// Nodes of 3, 2 and 3 ranks.
constexpr const char* kUneven =
    "[topology]\nnode_size = 3,2,3\n[levels]\nl1 = every 1\nl2 = every 1\nl3 = every 2\nl4 = every 4\n"
    "[erasure]\ngroup = 3\nparity = 2\n";

void survive_lost_nodes(const std::string& mode) {
  MpiJob job(std::string(kUneven) + kContinue + "[head]\nmode = " + mode + "\n");
  job.go(0, 3);
  job.lose_node(1);
  job.go(3, 3);
  job.lose_node(0);
  job.lose_node(2);
  job.go(6, 2);
  for (int node = 0; node < 3; ++node) job.lose_node(node);
  job.go(8, 1);
}

// Each rank reads what it had at an older step, while later snapshots are taken, and one rank rejects the newest.
void read_open_snapshots(const std::string& mode) {
  MpiJob job(std::string(kUneven) + kContinue + "[head]\nmode = " + mode + "\n");
  job.go(0, 3);
  job.lose_node(1);
  job.run([&](Session& session) {
    const auto expect_step = [&](const OpenSnapshot& open, std::uint32_t step) {
      EXPECT_EQ(open.read<std::uint32_t>("step"), std::vector<std::uint32_t>{step});
      EXPECT_EQ(open.read<double>("state"), sample_state(session.rank(), step));
    };
    OpenSnapshot old = session.open_snapshot(2);
    expect_step(old, 2);
    OpenSnapshot newest = session.open_snapshot();
    expect_step(newest, 3);
    EXPECT_FALSE(newest.close(session.rank() != 1));
    Steps steps(session);
    EXPECT_EQ(steps.restore(), 2U);
    steps.advance_by(4);
    steps.wait_for_all();
    expect_step(old, 2);
    EXPECT_TRUE(old.close());
    OpenSnapshot mine = session.open_snapshot();
    expect_step(mine, 6);
    EXPECT_TRUE(mine.close());
  });
  job.go(6, 1);
}

std::unique_ptr<CallFile> read_calls(const std::string& path) {
  auto file = std::make_unique<CallFile>();
  std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(file.get()), sizeof(CallFile));
  return file;
}

// The application's calls, and none that Cairn makes meanwhile.
void write_calls_down(const std::string& mode) {
  MpiJob job(std::string(kUneven) + "[head]\nmode = " + mode + "\n");
  job.run([&](Session& session) {
    Steps steps(session);
    steps.advance_by(4);
    MPI_Barrier(session.comm());
    steps.wait_for_all();
    const auto files = job.call_files(Rank{session.rank()});
    ASSERT_EQ(files.size(), 1U);
    const auto file = read_calls(files.front());
    EXPECT_EQ(file->rank, session.rank());
    EXPECT_EQ(file->ranks, session.size());
    ASSERT_EQ(file->calls, 1U);
    EXPECT_STREQ(file->names.at(file->past[0].call).data(), "MPI_Barrier");
  });
  EXPECT_THAT(job.call_files(Rank{0}), IsEmpty());
}

TEST(UnevenNodes, read_open_snapshots_with_head_ranks) { read_open_snapshots("rank"); }
TEST(UnevenNodes, read_open_snapshots_with_inline_heads) { read_open_snapshots("inline"); }
TEST(UnevenNodes, read_open_snapshots_with_head_threads) { read_open_snapshots("thread"); }

TEST(UnevenNodes, write_down_what_the_application_says_to_MPI) {
  write_calls_down("rank");
  write_calls_down("inline");
}
TEST(UnevenNodes, write_down_what_the_application_says_to_MPI_with_head_threads) { write_calls_down("thread"); }

// A rank that was killed has left its file of calls, which goes when the next life opens. Ranks of that life keep
// theirs.
void remove_calls_of_killed_ranks(const std::string& mode) {
  MpiJob job(std::string(kUneven) + kContinue + "[head]\nmode = " + mode + "\n");
  const auto killed = [](const Session& session) { return Rank{100 + session.rank()}; };
  job.run([&](Session& session) {
    const auto files = job.call_files(Rank{session.rank()});
    ASSERT_EQ(files.size(), 1U);
    const std::filesystem::path file(files.front());
    std::filesystem::copy_file(file, file.parent_path().parent_path() / names::calls(killed(session)).path);
  });
  job.run([&](Session& session) {
    MPI_Barrier(session.comm());
    EXPECT_THAT(job.call_files(killed(session)), IsEmpty());
    EXPECT_THAT(job.call_files(Rank{session.rank()}), testing::SizeIs(1));
  });
}

TEST(UnevenNodes, remove_calls_of_killed_ranks) {
  remove_calls_of_killed_ranks("rank");
  remove_calls_of_killed_ranks("inline");
}
TEST(UnevenNodes, remove_calls_of_killed_ranks_with_head_threads) { remove_calls_of_killed_ranks("thread"); }

TEST(UnevenNodes, survive_losses_with_head_ranks) { survive_lost_nodes("rank"); }
TEST(UnevenNodes, survive_losses_with_inline_heads) { survive_lost_nodes("inline"); }
TEST(UnevenNodes, survive_losses_with_head_threads) { survive_lost_nodes("thread"); }

}  // namespace
}  // namespace cairn::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const bool multiple = argc > 1 && std::string(argv[1]) == "multiple";
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  return cairn::test::run_tests_and_finalize(!multiple || provided == MPI_THREAD_MULTIPLE);
}
