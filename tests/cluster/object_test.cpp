// Objects: what the application saves and loads by functions of its own comes back, at every level and on all ranks or
// on none.
#include <cstdint>
#include <istream>
#include <limits>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/names.hpp"
#include "support/facts.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

constexpr const char* kSettings = "[levels]\nl1 = every 1\nl2 = every 1\nl3 = off\nl4 = every 1\n";
constexpr const char* kContinues = "[restart]\nat_end = continue\n";

// Words that are kept as text, and how often that was done.
struct Words {
  std::vector<std::string> words = {};
  int saves = 0;
  int loads = 0;

  void save(std::ostream& out) {
    ++saves;
    for (const std::string& word : words) out << word << '\n';
  }
  void load(std::istream& in) {
    ++loads;
    words.clear();
    for (std::string word; in.peek() != std::istream::traits_type::eof() && std::getline(in, word);)
      words.push_back(word);
    in.clear();
  }
  template <class... Kind>
  void protect(JobSession& session, Kind... kind) {
    session.protect(
        "words", [this](std::ostream& out) { save(out); }, [this](std::istream& in) { load(in); }, kind...);
  }
};

std::string settings() { return std::string(kSettings) + kContinues; }

// One snapshot of each rank's own words.
void keep_words(JobSession& session) {
  Words words{{"a", "cairn", std::to_string(session.rank())}};
  int step = 1;
  session.protect("step", step, same);
  words.protect(session);
  session.restore();
  EXPECT_EQ(words.loads, 0);
  words.words.resize(3 + session.rank(), "more");
  session.snapshot();
  EXPECT_EQ(words.saves, 1);
}

void expect_words(JobSession& session, const Words& words) {
  std::vector<std::string> expected{"a", "cairn", std::to_string(session.rank())};
  expected.resize(3 + session.rank(), "more");
  EXPECT_EQ(words.words, expected);
  EXPECT_EQ(words.loads, 1);
  EXPECT_EQ(words.saves, 0);
}

void restore_words(JobSession& session) {
  Words words{{"other"}};
  int step = 0;
  session.protect("step", step, same);
  words.protect(session);
  const RestoreReport report = session.restore();
  EXPECT_TRUE(report.restored);
  EXPECT_THAT(report.resized, testing::IsEmpty());
  expect_words(session, words);
}

TEST(Objects, come_back_with_the_size_that_they_had) {
  Job job({2, 2}, settings());
  job.run(keep_words);
  job.run(restore_words);
}

TEST(Objects, come_back_where_heads_are_threads_or_work_in_calls) {
  for (const char* mode : {"thread", "inline"}) {
    Job job({2, 2}, std::string("[head]\nmode = ") + mode + "\n" + settings());
    job.run(keep_words);
    job.run(restore_words);
  }
}

TEST(Objects, come_back_from_copies_and_from_l4_after_the_loss_of_nodes) {
  Job job({2, 2, 2, 2}, settings());
  job.run(keep_words);
  const Job::Image before = job.image();
  job.lose(1);
  job.run(restore_words);
  job.put_back(before);
  for (std::uint32_t host = 0; host < job.nodes(); ++host) job.lose(host);
  job.run(restore_words);
}

// Heads offer the snapshot again when a rank has found its shard damaged.
TEST(Objects, are_loaded_once_though_a_shard_is_damaged) {
  Job job({2, 2, 2, 2}, settings());
  job.run(keep_words);
  const std::vector<Entry> entries = job.node_store(1).list(DirName{}).value();
  for (const Entry& entry : entries) {
    if (!names::parse_snapshot(entry.name)) continue;
    ASSERT_TRUE(job.node_store(1).corrupt(names::shard(DirName{entry.name}, Rank{1}), 4'100));
  }
  job.run(restore_words);
}

TEST(Objects, alone_are_restored_by_name) {
  Job job({2, 2}, settings());
  job.run([](JobSession& session) {
    Words words{{"kept"}};
    Words other{{"other"}};
    int step = 1;
    session.protect("step", step);
    words.protect(session);
    session.protect(
        "other", [&](std::ostream& out) { other.save(out); }, [&](std::istream& in) { other.load(in); });
    session.snapshot();
    words.words = {"changed"};
    session.restore("step");
    EXPECT_THAT(words.words, testing::ElementsAre("changed"));
    session.restore("words");
    EXPECT_THAT(words.words, testing::ElementsAre("kept"));
    EXPECT_EQ(other.loads, 0);
    session.unprotect("words");
    EXPECT_THAT(thrown_by([&] { session.restore(); }), Fails(ErrorKind::mismatch, {"words object(5 B)"}));
    words.protect(session);
    session.restore();
  });
}

TEST(Objects, that_cannot_be_saved_cost_a_snapshot_on_all_ranks_and_are_named) {
  Job job({2, 2}, settings());
  job.log_level = "info";
  testing::internal::CaptureStderr();
  job.run([](JobSession& session) {
    int state = 1;
    bool good = true;
    session.protect(
        "tree",
        [&](std::ostream& out) {
          if (!good && session.rank() == 1) throw std::runtime_error("a branch is broken");
          out << state;
        },
        [&](std::istream& in) { in >> state; });
    session.restore();
    session.snapshot();
    session.wait(LevelId::local);
    good = false;
    EXPECT_THAT(thrown_by([&] { session.snapshot(); }), testing::IsEmpty());
    EXPECT_THAT(thrown_by([&] { session.wait(LevelId::local); }), Fails(ErrorKind::storage, {"version 2"}));
    const bool mine = session.rank() == 1;
    EXPECT_THAT(session.storage_error(),
                mine ? Names({"object \"tree\"", "a branch is broken"}) : Names({"version 2"}));
    good = true;
    state = 3;
    session.snapshot();
    session.wait(LevelId::local);
    EXPECT_EQ(session.safe_version(LevelId::local), 3U);
  });
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(lines_that_name(log, {"object \"tree\"", "a branch is broken"}), testing::SizeIs(1)) << log;
}

TEST(Objects, whose_stream_fails_cost_a_snapshot) {
  Job job({2, 2}, settings());
  job.run_and_die([](JobSession& session) {
    session.protect(
        "odd", [](std::ostream& out) { out.setstate(std::ios_base::failbit); }, [](std::istream&) {});
    session.snapshot();
    EXPECT_THAT(thrown_by([&] { session.wait(LevelId::local); }), Fails(ErrorKind::storage, {"version 1"}));
    EXPECT_THAT(session.storage_error(), Names({"object \"odd\"", "stream"}));
  });
}

// A restore that fails on one rank fails on all, and snapshots are refused until one succeeds.
TEST(Objects, that_cannot_be_loaded_on_one_rank_are_an_error_on_all) {
  Job job({2, 2}, settings());
  job.run(keep_words);
  job.run([](JobSession& session) {
    Words words;
    int step = 0;
    session.protect("step", step);
    bool good = false;
    session.protect(
        "words", [&](std::ostream& out) { words.save(out); },
        [&](std::istream& in) {
          words.load(in);
          if (!good && session.rank() == 1) throw 7;
        });
    EXPECT_THAT(thrown_by([&] { session.restore(); }),
                Fails(ErrorKind::mismatch, {"rank 1", "object \"words\"", "exception"}));
    EXPECT_THAT(thrown_by([&] { session.snapshot(); }), Fails(ErrorKind::mismatch, {"restore", "words"}));
    good = true;
    words.loads = 0;
    session.restore();
    expect_words(session, words);
  });
}

TEST(Objects, that_read_more_than_they_wrote_are_an_error) {
  Job job({2, 2}, settings());
  const auto protect = [](JobSession& session, std::vector<int>& numbers, std::size_t read) {
    session.protect(
        "numbers", [&](std::ostream& out) { out.write(reinterpret_cast<const char*>(numbers.data()), 4); },
        [&numbers, read](std::istream& in) {
          in.read(reinterpret_cast<char*>(numbers.data()), static_cast<std::streamsize>(read));
        });
  };
  job.run([&](JobSession& session) {
    std::vector<int> numbers{5, 6};
    protect(session, numbers, 4);
    session.snapshot();
  });
  job.run([&](JobSession& session) {
    std::vector<int> numbers{0, 0};
    protect(session, numbers, 8);
    EXPECT_THAT(thrown_by([&] { session.restore(); }), Fails(ErrorKind::mismatch, {"numbers", "more than was saved"}));
    protect(session, numbers, 4);
    session.restore();
    EXPECT_EQ(numbers[0], 5);
  });
}

TEST(Objects, and_plain_regions_are_told_apart) {
  Job job({2, 2}, settings());
  job.run(keep_words);
  job.run([](JobSession& session) {
    int step = 0;
    std::vector<char> words;
    session.protect("step", step);
    session.protect("words", words);
    EXPECT_THAT(thrown_by([&] { session.restore(); }), Fails(ErrorKind::mismatch, {"words int8[0]", "object("}));
    Words right;
    right.protect(session);
    session.restore();
  });
}

TEST(Objects, of_the_same_contents_or_of_one_rank_come_back_on_another_number_of_ranks) {
  Job job({2, 2, 2, 2}, settings());
  job.run([](JobSession& session) {
    Words all{{"one", "for", "all"}};
    Words first{std::vector<std::string>(session.rank() + 1, "own")};
    all.protect(session, same);
    session.protect(
        "first", [&](std::ostream& out) { first.save(out); }, [&](std::istream& in) { first.load(in); }, of_rank(2));
    session.snapshot();
  });
  job.reshape({2, 2});
  job.run([](JobSession& session) {
    Words all;
    Words first;
    all.protect(session, same);
    session.protect(
        "first", [&](std::ostream& out) { first.save(out); }, [&](std::istream& in) { first.load(in); }, of_rank(2));
    EXPECT_EQ(session.restore().old_ranks, 4U);
    EXPECT_THAT(all.words, testing::ElementsAre("one", "for", "all"));
    EXPECT_THAT(first.words, testing::SizeIs(3));
    EXPECT_EQ(all.loads + first.loads, 2);
  });
}

TEST(Objects, without_a_kind_are_refused_on_another_number_of_ranks) {
  Job job({2, 2, 2, 2}, settings());
  job.run(keep_words);
  job.reshape({2, 2});
  job.run_and_die([](JobSession& session) {
    Words words;
    int step = 0;
    session.protect("step", step, same);
    words.protect(session);
    EXPECT_THAT(thrown_by([&] { session.restore(); }), Fails(ErrorKind::mismatch, {"words"}));
    EXPECT_EQ(words.loads, 0);
    EXPECT_THAT(thrown_by([&] { words.protect(session, sequence); }), Fails(ErrorKind::usage, {"words", "object"}));
    EXPECT_THAT(thrown_by([&] { session.protect("words", SaveObject(), LoadObject()); }),
                Fails(ErrorKind::usage, {"words", "empty"}));
  });
}

}  // namespace
}  // namespace cairn::test
