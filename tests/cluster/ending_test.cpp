// What a finalize leaves behind that is cut short, or that meets stores which have lost or refuse something: the newest
// snapshot is never lost, and a job counts as finished only once that snapshot is whole at L4.
#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recover/chain.hpp"
#include "store/names.hpp"
#include "support/facts.hpp"
#include "support/faulty_store.hpp"
#include "support/hooked_store.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

using testing::IsEmpty;
using testing::Not;
using Kind = HookedStore::Operation::Kind;

constexpr std::uint32_t kRanks = 2;
constexpr std::uint32_t kHeld = 4;   // a version that is at L4 when its life dies
constexpr std::uint32_t kNewer = 5;  // one that is not

const std::string kEndingLevels = "[levels]\nl1 = every 1\nl2 = every 2\nl3 = off\nl4 = every 4\n";
const std::string kEndFinished = kEndingLevels + "[restart]\nat_end = finished\n";
const std::string kEndContinue = kEndingLevels + "[restart]\nat_end = continue\n";

// A job that died after it had taken `steps` steps.
std::unique_ptr<Job> job_at(std::uint32_t steps, const std::string& settings) {
  auto job = std::make_unique<Job>(std::vector<std::uint32_t>(kRanks, 2), settings);
  take_steps(*job, steps);
  return job;
}

bool counts_as_finished(Job& job) { return read_chain(job.global_store(), Log::silent(), {}).value().finished; }

void expect_empty_node_stores(Job& job) {
  for (std::uint32_t node = 0; node < job.nodes(); ++node)
    EXPECT_THAT(contents_of(job.node_store(node)).versions, IsEmpty()) << "node " << node;
}

// A life that goes on from `step` and finalizes; what that throws.
Thrown finish_from(Job& job, std::uint32_t step) {
  return thrown_by([&] { job.run([&](JobSession& session) { EXPECT_EQ(Steps(session).restore(), step); }); });
}

// What rank 0 does when all ranks have restored, and before any of them finalizes.
class BeforeTheEnd {
 public:
  void once(JobSession& session, const std::function<void()>& what) {
    restored_.arrive_and_wait();
    if (session.rank() == 0) {
      what();
      done_.count_down();
    }
    done_.wait();
  }

 private:
  std::latch restored_{kRanks};
  std::latch done_{1};
};

// The same, where `then` happens between the restore and the end.
Thrown finish_from(Job& job, std::uint32_t step, const std::function<void()>& then) {
  BeforeTheEnd before_the_end;
  return thrown_by([&] {
    job.run([&](JobSession& session) {
      EXPECT_EQ(Steps(session).restore(), step);
      before_the_end.once(session, then);
    });
  });
}

// A life that does `before` and is then killed at the n-th store operation of finalize. Returns whether it came so far.
bool finish_and_die(Job& job, std::uint64_t n, const std::function<void(JobSession&)>& before) {
  const auto plan = std::make_shared<FaultPlan>();
  job.wrap_node = [plan](std::uint32_t, auto store) { return std::make_shared<FaultyStore>(store, plan); };
  job.wrap_global = [plan](auto store) { return std::make_shared<FaultyStore>(store, plan); };
  // All ranks have opened their session before the fault is armed, and none finalizes before.
  std::latch ready(kRanks);
  std::latch armed(kRanks);
  job.run_and_die([&](JobSession& session) {
    before(session);
    if (session.rank() == 0) plan->on_first_failure([&] { session.kill_job(); });
    ready.arrive_and_wait();
    if (session.rank() == 0) plan->crash_at(plan->operations() + n);
    armed.arrive_and_wait();
    session.finalize();
  });
  job.wrap_node = {};
  job.wrap_global = {};
  return plan->has_failed();
}

class AnyEnd : public testing::TestWithParam<std::uint32_t> {};

// Either the next life goes on from the last version and finishes, or the job had come to its end: node stores were
// empty, L4 whole, and the record is the proof.
TEST_P(AnyEnd, that_is_killed_at_any_store_operation_is_recorded_last_and_loses_nothing) {
  const auto job = job_at(GetParam(), kEndFinished);
  job->log_level = "off";
  const auto before = job->image();
  bool killed = true;
  bool was_recorded_early = false;
  for (std::uint64_t n = 0; killed && !HasFailure(); ++n) {
    SCOPED_TRACE("killed at operation " + std::to_string(n) + " of finalize");
    ASSERT_LT(n, 1000U) << "the sweep does not come to an end";
    job->put_back(before);
    killed = finish_and_die(*job, n, [](JobSession& session) { EXPECT_EQ(Steps(session).restore(), GetParam()); });
    const bool finished = counts_as_finished(*job);
    was_recorded_early |= killed && finished;
    if (finished) {
      expect_empty_node_stores(*job);
      EXPECT_THAT(contents_of(job->global_store()).versions, testing::ElementsAre(GetParam()));
    }
    EXPECT_THAT(finish_from(*job, finished ? 0 : GetParam()), testing::IsEmpty());
    EXPECT_TRUE(counts_as_finished(*job));
    expect_empty_node_stores(*job);
  }
  EXPECT_FALSE(was_recorded_early) << "something came after the record";
}

INSTANTIATE_TEST_SUITE_P(with_a_last_version, AnyEnd, testing::Values(kHeld, kNewer),
                         [](const auto& info) { return info.param == kHeld ? "that_is_at_L4" : "that_goes_to_L4"; });

// A life that begins anew and takes no snapshot removes those of earlier lives. Until that is recorded they are there.
TEST(End, of_a_life_that_begins_anew_is_never_refused_wherever_it_is_killed) {
  const auto job = job_at(kHeld, kEndContinue);
  job->log_level = "off";
  const auto before = job->image();
  bool killed = true;
  for (std::uint64_t n = 0; killed && !HasFailure(); ++n) {
    SCOPED_TRACE("killed at operation " + std::to_string(n) + " of finalize");
    job->put_back(before);
    job->configure(kEndFinished + "mode = fresh\n");
    killed = finish_and_die(*job, n, [](JobSession&) {});
    job->configure(kEndContinue);
    std::uint32_t found = 0;
    EXPECT_THAT(thrown_by([&] {
                  job->run([&](JobSession& session) {
                    const std::uint32_t step = Steps(session).restore();
                    if (session.rank() == 0) found = step;
                  });
                }),
                testing::IsEmpty());
    EXPECT_TRUE(found == 0 || found == kHeld) << found;
  }
}

TEST(End, succeeds_with_a_warning_if_a_node_store_cannot_be_emptied) {
  for (const Kind refused : {Kind::retire, Kind::remove, Kind::remove_directory, Kind::clean}) {
    const auto job = job_at(kHeld, kEndFinished);
    job->log_level = "warning";
    std::atomic<bool> ending = false;  // set by a rank, read by heads
    job->wrap_node = [&](std::uint32_t host, auto store) -> std::shared_ptr<Store> {
      return std::make_shared<HookedStore>(store, [&, host](const HookedStore::Operation& operation) -> Status {
        if (host == 0 || operation.kind != refused || !ending) return {};
        return fail(Code::io, operation.path + ": Operation not permitted");
      });
    };
    testing::internal::CaptureStderr();
    EXPECT_THAT(finish_from(*job, kHeld, [&] { ending = true; }), testing::IsEmpty());
    const std::string told = testing::internal::GetCapturedStderr();
    EXPECT_THAT(told, Names({"node 1", "Operation not permitted"}));
    EXPECT_TRUE(counts_as_finished(*job));
    job->wrap_node = {};
    EXPECT_THAT(finish_from(*job, 0), testing::IsEmpty());
    expect_empty_node_stores(*job);
  }
}

TEST(End, succeeds_with_a_warning_if_a_full_global_store_cannot_record_it) {
  const auto job = job_at(kHeld, kEndFinished);
  job->log_level = "warning";
  std::atomic<bool> ending = false;  // set by a rank, read by heads
  job->wrap_global = [&](auto store) -> std::shared_ptr<Store> {
    return std::make_shared<HookedStore>(store, [&](const HookedStore::Operation& operation) -> Status {
      if (!ending || operation.kind != Kind::create) return {};
      return fail(Code::no_space, operation.path + ": No space left on device");
    });
  };
  std::vector<CompletionMark::Kind> marks;
  job->leave_mark = [&](const Config&, const CompletionMark& mark) { marks.push_back(mark.kind); };
  testing::internal::CaptureStderr();
  EXPECT_THAT(finish_from(*job, kHeld, [&] { ending = true; }), testing::IsEmpty());
  EXPECT_THAT(testing::internal::GetCapturedStderr(), Names({"No space left on device"}));
  EXPECT_EQ(marks.back(), CompletionMark::Kind::finished);
  expect_empty_node_stores(*job);
  job->wrap_global = {};
  EXPECT_THAT(finish_from(*job, kHeld), testing::IsEmpty());
  EXPECT_TRUE(counts_as_finished(*job));
}

// Another session of the same ckpt-run may make a job that has finished start again.
TEST(End, of_an_earlier_life_of_the_same_launch_is_gone_on_from) {
  const auto job = job_at(kHeld, kEndFinished);
  EXPECT_THAT(finish_from(*job, kHeld), testing::IsEmpty());
  job->has_ended = true;
  EXPECT_THAT(finish_from(*job, kHeld), testing::IsEmpty());
  EXPECT_THAT(finish_from(*job, kHeld), testing::IsEmpty());
  job->has_ended = false;
  EXPECT_THAT(finish_from(*job, 0), testing::IsEmpty());
}

// What somebody else may do to the global store while the job runs.
struct Purge {
  const char* name;
  void (*of)(MemoryStore&);
};

void remove_files(MemoryStore& store, const std::string& part) {
  StoreImage image = image_of(store);
  std::erase_if(image, [&](const auto& file) { return file.first.find(part) != std::string::npos; });
  put_back(store, image);
}

void change_files(MemoryStore& store, const std::string& part, void (*change)(Buffer&)) {
  StoreImage image = image_of(store);
  for (auto& [path, bytes] : image) {
    if (path.find(part) != std::string::npos) change(bytes);
  }
  put_back(store, image);
}

constexpr Purge kPurges[] = {
    {"everything", [](MemoryStore& store) { store.wipe(); }},
    {"snapshots", [](MemoryStore& store) { remove_files(store, "/"); }},
    {"the_manifest", [](MemoryStore& store) { remove_files(store, "manifest.json"); }},
    {"the_master_file", [](MemoryStore& store) { remove_files(store, "checkpoint.h5"); }},
    {"a_node_file", [](MemoryStore& store) { remove_files(store, "node0001.h5"); }},
    {"the_end_of_a_node_file",
     [](MemoryStore& store) {
       change_files(store, "node0000.h5", [](Buffer& bytes) { bytes.resize(bytes.size() / 2); });
     }},
    {"the_sense_of_the_manifest",
     [](MemoryStore& store) {
       change_files(store, "manifest.json", [](Buffer& bytes) { bytes[bytes.size() / 2] ^= std::byte{1}; });
     }},
};

class Purged : public testing::TestWithParam<Purge> {};

TEST_P(Purged, from_the_global_store_before_the_end_is_written_there_again) {
  const auto job = job_at(kHeld, kEndContinue);
  EXPECT_THAT(finish_from(*job, kHeld, [&] { GetParam().of(job->global_store()); }), testing::IsEmpty());
  for (std::uint32_t node = 0; node < job->nodes(); ++node) job->lose(node);
  EXPECT_THAT(finish_from(*job, kHeld), testing::IsEmpty()) << "all nodes are lost";
}

TEST_P(Purged, from_the_global_store_before_the_end_is_there_before_node_stores_are_emptied) {
  const auto job = job_at(kHeld, kEndFinished);
  const StoreImage before = image_of(job->global_store());
  EXPECT_THAT(finish_from(*job, kHeld, [&] { GetParam().of(job->global_store()); }), testing::IsEmpty());
  EXPECT_TRUE(counts_as_finished(*job));
  expect_empty_node_stores(*job);
  const StoreImage after = image_of(job->global_store());
  for (const auto& [path, bytes] : before)
    EXPECT_TRUE(path.find('/') == std::string::npos || after.contains(path)) << path;
}

TEST_P(Purged, from_a_global_store_that_takes_no_more_fails_the_end_and_keeps_node_stores) {
  for (const std::string& settings : {kEndFinished, kEndContinue}) {
    const auto job = job_at(kHeld, settings);
    job->log_level = "off";
    std::atomic<bool> full = false;  // set by a rank, read by heads
    job->wrap_global = [&](auto store) -> std::shared_ptr<Store> {
      return std::make_shared<HookedStore>(store, [&](const HookedStore::Operation& operation) -> Status {
        if (!full || operation.kind != Kind::create) return {};
        return fail(Code::no_space, operation.path + ": No space left on device");
      });
    };
    const Thrown told = finish_from(*job, kHeld, [&] {
      GetParam().of(job->global_store());
      full = true;
    });
    EXPECT_THAT(told, Fails(ErrorKind::storage, {"version 4", "L4"}));
    EXPECT_FALSE(counts_as_finished(*job));
    for (std::uint32_t node = 0; node < job->nodes(); ++node)
      EXPECT_THAT(contents_of(job->node_store(node)).versions, Not(IsEmpty())) << "node " << node;
    job->wrap_global = {};
    EXPECT_THAT(finish_from(*job, kHeld), testing::IsEmpty());
  }
}

INSTANTIATE_TEST_SUITE_P(all, Purged, testing::ValuesIn(kPurges), [](const auto& info) { return info.param.name; });

// Node stores hold the last good copy of a byte that has changed at L4.
TEST(End, writes_again_what_has_changed_at_L4_before_node_stores_are_emptied) {
  const auto job = job_at(kHeld, kEndFinished);
  const StoreImage before = image_of(job->global_store());
  const auto is_data = [](const std::string& path) { return path.find("node0001.h5") != std::string::npos; };
  const auto middle_of = [](Buffer& bytes) -> std::byte& { return bytes[bytes.size() / 2]; };
  EXPECT_THAT(finish_from(*job, kHeld,
                          [&] {
                            StoreImage image = before;
                            for (auto& [path, bytes] : image) {
                              if (is_data(path)) middle_of(bytes) ^= std::byte{1};
                            }
                            put_back(job->global_store(), image);
                          }),
              testing::IsEmpty());
  EXPECT_TRUE(counts_as_finished(*job));
  // A file that is written again says when.
  StoreImage after = image_of(job->global_store());
  for (const auto& [path, bytes] : before) {
    if (!is_data(path)) continue;
    ASSERT_EQ(after.at(path).size(), bytes.size()) << path;
    EXPECT_EQ(middle_of(after.at(path)), bytes[bytes.size() / 2]) << path;
  }
}

}  // namespace
}  // namespace cairn::test
