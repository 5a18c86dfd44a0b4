// Node stores are found by the job's name, the global store by its path: a copy of the job elsewhere must not go on
// from the snapshots of the first.
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/names.hpp"
#include "support/facts.hpp"
#include "support/job.hpp"
#include "support/read_fault.hpp"
#include "support/steps.hpp"
#include "support/store_image.hpp"

namespace cairn::test {
namespace {

using testing::IsEmpty;

const std::string kLevels = "[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = every 4\n";
const std::string kContinue = kLevels + "[restart]\nat_end = continue\n";
const std::string kFresh = kLevels + "[restart]\nmode = fresh\nat_end = continue\n";
const std::string kFinished = kLevels + "[restart]\nat_end = finished\n";

// Restores, which must give `from`, takes `count` steps, and dies.
void go(Job& job, std::uint32_t from, std::uint32_t count) {
  job.run_well_and_die([&](JobSession& session) {
    Steps steps(session);
    EXPECT_EQ(steps.restore(), from);
    steps.advance_by(count);
    steps.wait_for_all();
  });
}
std::optional<Failure> refusal_of(Job& job) {
  (void)thrown_by([&] { job.run([](JobSession& session) { Steps(session).restore(); }); });
  return job.cause();
}

// The job's runs see another global store from here on.
std::shared_ptr<MemoryStore> move_global(Job& job, const std::string& where) {
  auto other = std::make_shared<MemoryStore>(MemoryStore::kUnbounded, where);
  job.wrap_global = [other](std::shared_ptr<Store>) { return other; };
  return other;
}

TEST(Belonging, a_copy_of_the_job_in_another_directory_is_refused_and_touches_nothing) {
  Job job({2, 2}, kContinue);
  go(job, 0, 2);
  const Job::Image before = job.image();
  const auto run2 = move_global(job, "run2/checkpoints");
  for (const std::string& settings : {kContinue, kFresh}) {
    job.configure(settings);
    EXPECT_THAT(refusal_of(job), Fails(Code::mismatch, {"store of node 0", job.global_store().where(),
                                                        "run2/checkpoints", "[job] name"}));
    EXPECT_THAT(image_of(*run2), IsEmpty());
    for (std::uint32_t node = 0; node < 2; ++node)
      EXPECT_THAT(differences(before.nodes[node], job.image().nodes[node]), IsEmpty()) << "node " << node;
  }
  job.wrap_global = {};
  job.configure(kContinue);
  go(job, 2, 1);
}

TEST(Belonging, a_copy_whose_global_store_has_been_used_is_refused_too) {
  Job job({2, 2}, kContinue);
  go(job, 0, 2);
  Job other({2, 2}, kContinue);
  go(other, 0, 3);
  other.wrap_node = [&](std::uint32_t node, std::shared_ptr<Store>) {
    return std::shared_ptr<Store>(&job.node_store(node), [](Store*) {});
  };
  EXPECT_THAT(refusal_of(other),
              Fails(Code::mismatch, {"store of node 0", other.global_store().where(), "[job] name"}));
  go(job, 2, 0);
}

TEST(Belonging, a_global_store_that_was_lost_takes_up_its_node_stores_again) {
  Job job({2, 2}, kContinue);
  go(job, 0, 2);
  job.global_store().wipe();
  go(job, 2, 1);
  go(job, 3, 0);
}

// The global store has lost its records but not the snapshot, and no node store tells of that life any more. The next
// life's snapshots are newer all the same.
TEST(LostRecords, of_a_life_whose_snapshot_is_at_L4_do_not_hide_what_comes_after) {
  Job job({2, 2}, kContinue);
  go(job, 0, 1);
  go(job, 1, 3);
  StoreImage image = image_of(job.global_store());
  std::erase_if(image, [](const auto& file) { return file.first.find('/') == std::string::npos; });
  put_back(job.global_store(), image);
  for (std::uint32_t node = 0; node < job.nodes(); ++node) job.lose(node);
  go(job, 4, 1);
  go(job, 5, 0);
}

// This life went on from a snapshot that no record told of; then all stores lose their files under it.
TEST(LostRecords, make_no_fresh_start_of_a_later_restore_that_finds_nothing) {
  Job job({2, 2}, kContinue);
  go(job, 0, 2);
  job.global_store().wipe();
  job.run_and_die([&](JobSession& session) {
    Steps steps(session);
    EXPECT_EQ(steps.restore(), 2U);
    if (session.rank() == 0) {
      job.global_store().wipe();
      for (const std::uint32_t node : {0U, 1U}) job.node_store(node).wipe();
    }
    EXPECT_THAT(thrown_by([&] { session.restore(); }), Fails(ErrorKind::unrecoverable, {"job"}));
  });
}

TEST(Belonging, a_mark_that_cannot_be_read_for_once_is_not_replaced) {
  Job job({2, 2}, kContinue);
  go(job, 0, 4);
  const Job::Image before = job.image();
  for (const std::uint32_t node : {0U, 1U}) job.lose(node);
  ReadFault fault;
  fault.watch(job);
  fault.set({.part = "chain.json"});
  fault.arm();
  go(job, 4, 1);
  EXPECT_TRUE(fault.struck());
  // The nodes' stores come back.
  job.put_back({before.nodes, job.image().global});
  go(job, 4, 1);
}

TEST(Belonging, a_global_store_that_was_moved_is_still_the_same) {
  Job job({2, 2}, kContinue);
  go(job, 0, 2);
  const auto moved = move_global(job, "scratch2/checkpoints");
  write_image(*moved, image_of(job.global_store()));
  go(job, 2, 1);
  go(job, 3, 0);
}

TEST(Belonging, stores_without_a_mark_are_taken_up) {
  Job job({2, 2}, kContinue);
  go(job, 0, 2);
  ASSERT_TRUE(job.global_store().remove(names::chain_mark()));
  for (const std::uint32_t node : {0U, 1U}) ASSERT_TRUE(job.node_store(node).remove(names::chain_mark()));
  go(job, 2, 1);
  move_global(job, "run2/checkpoints");
  EXPECT_THAT(refusal_of(job), Fails(Code::mismatch, {"run2/checkpoints"}));
}

TEST(Belonging, a_node_store_of_another_chain_is_named) {
  Job job({2, 2}, kContinue);
  go(job, 0, 2);
  Job other({2, 2}, kContinue);
  go(other, 0, 2);
  put_back(job.node_store(1), image_of(other.node_store(1)));
  EXPECT_THAT(refusal_of(job), Fails(Code::mismatch, {"store of node 1"}));
  job.global_store().wipe();
  EXPECT_THAT(refusal_of(job), Fails(Code::mismatch, {"store of node", "[job] name"}));
}

TEST(Belonging, node_stores_of_a_job_that_has_finished_are_free_for_another) {
  Job job({2, 2}, kFinished);
  job.run([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance_by(2);
  });
  move_global(job, "run2/checkpoints");
  job.configure(kContinue);
  go(job, 0, 2);
  go(job, 2, 0);
}

}  // namespace
}  // namespace cairn::test
