// What a program says about its snapshots: labels and attributes.
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "format/manifest.hpp"
#include "format/notes.hpp"
#include "session/next_notes.hpp"
#include "store/names.hpp"
#include "support/facts.hpp"
#include "support/hooked_store.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

constexpr const char* kSettings = R"([storage]
keep_local = 4
keep_global = 4
[levels]
l1 = every 1
l2 = every 1
l3 = off
l4 = every 2
[restart]
at_end = continue
)";

Job job_of_three_nodes() {
  Job job({2, 2, 2}, kSettings);
  job.log_level = "off";
  return job;
}

// By version, of a node's store.
std::map<std::uint32_t, SnapshotNotes> notes_in(const MemoryStore& store) {
  std::map<std::uint32_t, SnapshotNotes> notes;
  const auto entries = store.list(DirName{});
  for (const names::SnapshotDir& dir : names::snapshots_in(*entries)) {
    const auto manifest = read_node_manifest(store, names::directory_of(dir), {});
    EXPECT_TRUE(manifest) << manifest.error().text();
    if (manifest) notes[dir.version.value] = manifest->notes;
  }
  return notes;
}

std::map<std::uint32_t, SnapshotNotes> notes_in_global(const MemoryStore& store) {
  std::map<std::uint32_t, SnapshotNotes> notes;
  const auto entries = store.list(DirName{});
  for (const names::SnapshotDir& dir : names::snapshots_in(*entries)) {
    const auto manifest = read_global_manifest(store, names::directory_of(dir), {});
    if (manifest) notes[dir.version.value] = manifest->notes;
  }
  return notes;
}

std::string text_of(const SnapshotNotes& notes) {
  std::string text = notes.label;
  for (const Attribute& attribute : notes.attributes) text += "; " + cairn::text_of(attribute);
  return text;
}

// Four steps, of which the second has a label.
void run_with_notes(JobSession& session) {
  Steps steps(session, 50);
  steps.restore();
  session.attribute("state", "units", "m/s");
  session.attribute("cells", 4096);
  for (int i = 1; i <= 4; ++i) {
    session.attribute("time", 0.5 * i);
    if (i == 2) session.label("peak");
    steps.advance();
  }
  steps.wait_for_all();
}

TEST(Notes, are_in_the_manifests_of_all_nodes_and_of_the_global_store) {
  Job job = job_of_three_nodes();
  job.run_well_and_die(run_with_notes);
  for (std::uint32_t node = 0; node < 3; ++node) {
    SCOPED_TRACE(node);
    auto notes = notes_in(job.node_store(node));
    EXPECT_EQ(text_of(notes[1]), "; cells = 4096; time = 0.5; state: units = m/s");
    EXPECT_EQ(text_of(notes[2]), "peak; cells = 4096; time = 1; state: units = m/s");
    EXPECT_EQ(text_of(notes[4]), "; cells = 4096; time = 2; state: units = m/s");
  }
  auto global = notes_in_global(job.global_store());
  EXPECT_EQ(text_of(global[2]), "peak; cells = 4096; time = 1; state: units = m/s");
  EXPECT_EQ(text_of(global[4]), "; cells = 4096; time = 2; state: units = m/s");
}

TEST(Notes, of_the_restored_snapshot_are_reported_and_stay_set) {
  Job job = job_of_three_nodes();
  job.run_well_and_die(run_with_notes);
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session, 50);
    session.attribute("time", 0.0);
    session.attribute("code", "2.1");
    session.label("set before the restore");
    EXPECT_EQ(steps.restore(2), 2U);
    const SnapshotNotes restored{session.last_restore().label, session.last_restore().attributes};
    EXPECT_EQ(text_of(restored), "peak; cells = 4096; time = 1; state: units = m/s");
    steps.advance();
    steps.wait_for_all();
  });
  EXPECT_EQ(text_of(notes_in(job.node_store(1))[5]), "; cells = 4096; code = 2.1; time = 1; state: units = m/s");
}

TEST(Notes, reach_a_node_whose_store_was_lost_and_the_levels_that_are_rebuilt) {
  for (const std::uint32_t lost : {0U, 1U}) {
    Job job = job_of_three_nodes();
    job.run_well_and_die(run_with_notes);
    job.lose(lost);
    job.lose_global_snapshots();
    job.run_well_and_die([](JobSession& session) {
      Steps steps(session, 50);
      EXPECT_EQ(steps.restore(2), 2U);
      EXPECT_EQ(session.last_restore().label, "peak");
      session.snapshot(LevelId::global);
      session.wait(LevelId::global);
    });
    EXPECT_EQ(text_of(notes_in(job.node_store(lost))[2]), "peak; cells = 4096; time = 1; state: units = m/s");
  }
}

TEST(Notes, come_from_the_global_store_where_no_node_has_them) {
  Job job = job_of_three_nodes();
  job.run_well_and_die(run_with_notes);
  for (std::uint32_t node = 0; node < 3; ++node) job.lose(node);
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session, 50);
    EXPECT_EQ(steps.restore(2), 2U);
    EXPECT_EQ(session.last_restore().label, "peak");
    EXPECT_EQ(session.last_restore().attributes.size(), 3U);
  });
}

TEST(Notes, are_restored_on_another_number_of_ranks) {
  Job job = job_of_three_nodes();
  const auto take = [](bool first) {
    return [first](JobSession& session) {
      std::uint32_t step = 0;
      session.protect("step", step, same);
      session.restore();
      EXPECT_EQ(session.last_restore().label, first ? "" : "peak");
      EXPECT_EQ(session.last_restore().attributes.size(), first ? 0U : 1U);
      session.attribute("time", 1);
      if (first) session.label("peak");
      session.snapshot();
      session.wait(LevelId::partner);
    };
  };
  job.run_well_and_die(take(true));
  job.reshape({2, 3});
  job.run_well_and_die(take(false));
}

// The snapshot, not the job, is lost: the same program with the same label goes on.
void expect_refused(std::uint32_t odd_rank, std::vector<std::string> parts, const std::function<void(JobSession&)>& set,
                    const std::function<void(JobSession&)>& set_otherwise) {
  Job job({3, 3, 3}, kSettings);
  job.log_level = "off";
  job.run_and_die([&](JobSession& session) {
    Steps steps(session, 50);
    steps.restore();
    session.rank() == odd_rank ? set_otherwise(session) : set(session);
    steps.advance();
    steps.wait_for_all();
  });
  ASSERT_EQ(job.errors().size(), 6U);
  for (const auto& [rank, error] : job.errors()) EXPECT_THAT(error, Fails(ErrorKind::mismatch, {parts.front()}));
  // Ranks 0 and 1 are on one node, which can name the difference.
  if (odd_rank < 2) {
    EXPECT_THAT(job.errors().at(0), Fails(ErrorKind::mismatch, parts));
  }
  EXPECT_TRUE(contents_of(job.node_store(0)).versions.empty());
}

TEST(Notes, that_differ_between_ranks_are_refused_by_name) {
  for (const std::uint32_t odd_rank : {1U, 4U}) {
    SCOPED_TRACE(odd_rank);
    expect_refused(
        odd_rank, {"different labels", "\"a\"", "\"b\""}, [](JobSession& session) { session.label("a"); },
        [](JobSession& session) { session.label("b"); });
    expect_refused(
        odd_rank, {"different attributes", "time = 1", "time = 2"},
        [](JobSession& session) { session.attribute("time", 1); },
        [](JobSession& session) { session.attribute("time", 2); });
    expect_refused(
        odd_rank, {"different attributes", "only some have plate: units = K"},
        [](JobSession& session) { session.attribute("time", 1); },
        [](JobSession& session) {
          session.attribute("time", 1);
          session.attribute("plate", "units", "K");
        });
  }
}

TEST(Notes, of_some_ranks_are_those_of_the_snapshot) {
  for (const std::uint32_t only : {0U, 2U}) {
    Job job = job_of_three_nodes();
    job.run_well_and_die([&](JobSession& session) {
      Steps steps(session, 50);
      steps.restore();
      if (session.rank() == only) session.label("from one rank");
      steps.advance_by(2);
      steps.wait_for_all();
      EXPECT_TRUE(notes_in_global(MemoryStore()).empty());
    });
    EXPECT_EQ(notes_in(job.node_store(only))[1].label, "from one rank");
    EXPECT_EQ(notes_in(job.node_store(only))[2].label, "");
    job.run_well_and_die([](JobSession& session) {
      Steps(session, 50).restore(1);
      EXPECT_EQ(session.last_restore().label, "from one rank");
    });
    EXPECT_EQ(notes_in(job.node_store(2 - only))[1].label, "from one rank");
  }
}

TEST(Notes, label_of_some_ranks_reaches_the_global_store) {
  Job job = job_of_three_nodes();
  job.run_well_and_die([&](JobSession& session) {
    Steps steps(session, 50);
    steps.restore();
    if (session.rank() == 2) session.label("from one rank");
    steps.advance_to(LevelId::global);
    steps.wait_for_all();
  });
  EXPECT_EQ(notes_in_global(job.global_store())[1].label, "from one rank");
}

TEST(Notes, label_waits_for_a_snapshot_that_is_taken) {
  Job job({2, 2, 2}, "[levels]\nl1 = every 3\nl2 = off\nl3 = off\nl4 = off\n");
  job.log_level = "off";
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session, 50);
    steps.restore();
    session.label("first");
    session.label("second");
    steps.advance_by(3);
    steps.wait_for_all();
  });
  EXPECT_EQ(notes_in(job.node_store(0))[1].label, "second");
}

// Version 2 fails on node 1: its rank cannot write its part, or its head the manifest.
TEST(Notes, label_of_a_snapshot_that_fails_stays_for_the_next_one) {
  for (const std::string file : {".shard", "manifest.json"}) {
    SCOPED_TRACE(file);
    Job job = job_of_three_nodes();
    job.wrap_node = [&](std::uint32_t node, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
      if (node != 1) return store;
      return std::make_shared<HookedStore>(store, [&](const HookedStore::Operation& operation) -> Status {
        const bool creates = operation.kind == HookedStore::Operation::Kind::create;
        if (creates && operation.path.starts_with("v00000002") && operation.path.ends_with(file))
          return fail(Code::no_space, operation.path + ": the store is full");
        return {};
      });
    };
    job.run_well_and_die([](JobSession& session) {
      Steps steps(session, 50);
      steps.restore();
      steps.advance();
      session.label("peak");
      steps.advance();
      EXPECT_THAT(thrown_by([&] { session.wait(LevelId::local); }), Fails(ErrorKind::storage, {"version 2"}));
      steps.advance_by(2);
      steps.wait_for_all();
    });
    for (std::uint32_t node = 0; node < 3; ++node) {
      auto notes = notes_in(job.node_store(node));
      EXPECT_FALSE(notes.contains(2));
      EXPECT_EQ(notes[3].label, "peak");
      EXPECT_EQ(notes[4].label, "");
    }
  }
}

TEST(Notes, label_of_a_snapshot_that_fails_gives_way_to_a_newer_one) {
  NextNotes notes;
  ASSERT_TRUE(notes.set_label("first"));
  notes.use(Version{1});
  EXPECT_EQ(notes.labeled(), Version{1});
  ASSERT_TRUE(notes.set_label("second"));
  notes.take_label_back();
  EXPECT_EQ(notes.notes().label, "second");
  notes.use(Version{2});
  notes.use(Version{3});
  EXPECT_FALSE(notes.labeled());
  notes.take_label_back();
  EXPECT_EQ(notes.notes().label, "");
}

TEST(Notes, that_are_not_valid_are_refused) {
  Job job({2, 2, 2}, kSettings);
  job.log_level = "off";
  job.run_well_and_die([](JobSession& session) {
    const auto refuses = [&](const auto& call, const std::string& part) {
      try {
        call();
        ADD_FAILURE() << "was not refused: " << part;
      } catch (const Exception& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
      }
    };
    for (const char* label : {"5", "newest", "5 again", "-1"})
      refuses([&] { session.label(label); }, "taken for a version");
    refuses([&] { session.label(""); }, "empty");
    refuses([&] { session.label(" a"); }, "blank");
    refuses([&] { session.label("a\nb"); }, "control character");
    refuses([&] { session.label(std::string(256, 'x')); }, "256 bytes");
    refuses([&] { session.attribute("", 1); }, "empty");
    refuses([&] { session.attribute("a\tb", 1); }, "control character");
    refuses([&] { session.attribute("x", std::string(1025, 'x')); }, "1025 bytes");
    refuses([&] { session.attribute("x", std::string(1, '\0')); }, "zero");
    refuses([&] { session.attribute("x", std::numeric_limits<std::uint64_t>::max()); }, "too large");
    for (int i = 0; i < 64; ++i) session.attribute("x" + std::to_string(i), i);
    session.attribute("x3", 5);
    refuses([&] { session.attribute("y", 1); }, "at most 64");
  });
}

TEST(Notes, of_any_value_come_back_from_the_manifest) {
  NodeManifest manifest;
  manifest.notes.label = "caf\xe9 \\x";
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  int number = 0;
  const AttributeValue values[] = {std::int64_t{0},
                                   std::numeric_limits<std::int64_t>::min(),
                                   std::numeric_limits<std::int64_t>::max(),
                                   0.1,
                                   -0.0,
                                   3.0,
                                   1e300,
                                   std::numeric_limits<double>::denorm_min(),
                                   kInfinity,
                                   -kInfinity,
                                   std::nan(""),
                                   -std::nan("5"),
                                   std::string(),
                                   std::string("line\nline \xff \"quoted\"")};
  for (const AttributeValue& value : values)
    ASSERT_TRUE(manifest.notes.put({number % 2 == 0 ? "" : "plate", "x" + std::to_string(number++), value}));
  const auto parsed = parse_node_manifest(to_json(manifest));
  ASSERT_TRUE(parsed) << parsed.error().text();
  EXPECT_EQ(*parsed, manifest);
  EXPECT_EQ(parsed->notes.label, manifest.notes.label);
  EXPECT_EQ(std::get<std::int64_t>(parsed->notes.attributes[0].value), 0);
  manifest.notes.label = "other";
  EXPECT_NE(*parsed, manifest);
}

}  // namespace
}  // namespace cairn::test
