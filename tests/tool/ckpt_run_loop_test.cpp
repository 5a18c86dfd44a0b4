// What ckpt-run decides after each life of a job.
#include "restart_loop.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "support/facts.hpp"

namespace ckpt_run {
namespace {

using cairn::Cause;
using cairn::Code;
using cairn::test::Names;
using testing::AllOf;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;
using Kind = cairn::CompletionMark::Kind;
using HostNames = std::vector<std::string>;

// A loop over hosts, and lives told to it.
class Loop {
 public:
  explicit Loop(const Options& options = {}, const HostNames& hosts = {"a", "b", "c"}, const std::string& config = {})
      : options_(options),
        config_(cairn::parse_config(config, "test.ini", {}).value()),
        loop_(options_, config_, hosts) {
    options_.ranks = 4;
    first_ = loop_.first();
  }
  Step after(const LifeEnd& end) { return loop_.after(end); }
  [[nodiscard]] Step not_started(const cairn::Error& error) const { return loop_.not_started(error); }
  [[nodiscard]] const Step& first() const { return first_; }
  [[nodiscard]] const HostNames& away() const { return loop_.away(); }

 private:
  Options options_;
  cairn::Config config_;
  RestartLoop loop_;
  Step first_;
};

LifeEnd death(bool snapshots = true, int code = 137) {
  LifeEnd end;
  end.code = code;
  end.killed = code == 137;
  end.how = fmt::format("mpirun ended with code {}", code);
  end.opened = true;
  end.snapshots = snapshots;
  return end;
}

LifeEnd with_mark(LifeEnd end, Kind kind, const std::string& text = {}, std::optional<Cause> cause = {}) {
  end.mark = {kind, text, {}, std::move(cause)};
  return end;
}

LifeEnd with_loss(LifeEnd end, const HostNames& hosts) {
  end.lost_hosts = hosts;
  return end;
}

TEST(RestartLoop, ends_only_with_a_mark_whatever_the_exit_code) {
  EXPECT_EQ(Loop().after(with_mark(death(true, 0), Kind::finished)).code, kFinished);
  EXPECT_EQ(Loop().after(with_mark(death(true, 0), Kind::stopped)).code, kFinished);
  EXPECT_TRUE(Loop().after(death(true, 0)).life);
  EXPECT_TRUE(Loop().after(with_mark(death(true, 0), Kind::opened)).life);
}

// mpirun counts them: its "rank 4" is no rank of the application.
TEST(RestartLoop, says_which_ranks_of_the_launcher_are_heads_where_one_was_killed) {
  Loop loop({}, {"a", "b"});
  EXPECT_THAT(loop.after(death()).text, Names({"code 137, whose ranks 2, 5 are heads; restart 1"}));
  EXPECT_THAT(loop.after(death(true, 1)).text, Not(Names({"heads are"})));
  EXPECT_THAT(loop.after(with_mark(death(), Kind::failed, "rank 1 threw")).text, Not(Names({"whose"})));
  Loop inlined({}, {"a"}, "[head]\nmode = inline\n");
  EXPECT_THAT(inlined.after(death()).text, Names({"code 137; restart 1"}));
}

TEST(RestartLoop, hands_on_the_code_that_an_application_ended_with_after_its_mark) {
  for (const Kind kind : {Kind::finished, Kind::stopped}) {
    const auto step = Loop().after(with_mark(death(true, 3), kind));
    EXPECT_FALSE(step.life);
    EXPECT_EQ(step.code, 3);
    EXPECT_THAT(step.text, Names({"mpirun", "code 3"}));
    // A launcher that stayed, and was ended for it.
    LifeEnd end = with_mark(death(true, 143), kind);
    end.ended_here = true;
    EXPECT_EQ(Loop().after(end).code, kFinished);
    // One that tells of a failure which the job has mended.
    Loop mending({}, {"a"}, "[recovery]\nmode = spares");
    EXPECT_EQ(mending.after(with_mark(death(true, 137), kind)).code, kFinished);
  }
}

TEST(RestartLoop, goes_on_as_long_as_lives_take_snapshots_and_restarts_are_left) {
  Loop loop({.max_restarts = 20});
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(loop.after(death()).life);
  const auto step = loop.after(death());
  EXPECT_FALSE(step.life);
  EXPECT_EQ(step.code, kGaveUp);
  EXPECT_THAT(step.text, AllOf(Names({"20", "--max-restarts"}), Names({"ckpt-tool list"})));
}

TEST(RestartLoop, gives_up_at_once_on_an_error_that_a_restart_cannot_mend) {
  const auto step = Loop().after(with_mark(death(), Kind::error, "version 7"));
  EXPECT_FALSE(step.life);
  EXPECT_EQ(step.code, kGaveUp);
  EXPECT_THAT(step.text, Names({"version 7"}));
}

TEST(RestartLoop, starts_fresh_where_no_snapshot_is_recoverable_only_if_it_is_told_to) {
  const LifeEnd lost =
      with_mark(death(false, 1), Kind::error, "no snapshot", Cause{Cause::Source::error, Code::unrecoverable, {}});
  Loop careful;
  EXPECT_TRUE(careful.after(death()).life->goes_on);
  EXPECT_FALSE(careful.after(lost).life);

  Loop loop({.fresh_if_unrecoverable = true});
  EXPECT_FALSE(loop.after(death()).life->fresh);
  const auto step = loop.after(lost);
  ASSERT_TRUE(step.life);
  EXPECT_TRUE(step.life->fresh);
  EXPECT_FALSE(step.life->goes_on);
  EXPECT_THAT(step.text, Names({"no snapshot", "fresh", "--fresh-if-unrecoverable"}));
  // Once it has taken snapshots, it goes on from these.
  const auto next = loop.after(death());
  ASSERT_TRUE(next.life);
  EXPECT_FALSE(next.life->fresh);
  EXPECT_TRUE(next.life->goes_on);
  // Any other error ends it, such as files that cannot be read now, and may be whole.
  EXPECT_FALSE(
      loop.after(with_mark(death(), Kind::error, "no snapshot", Cause{Cause::Source::error, Code::unreadable, {}}))
          .life);
  EXPECT_FALSE(
      loop.after(with_mark(death(), Kind::error, "a wrong key", Cause{Cause::Source::error, Code::config, {}})).life);
}

TEST(RestartLoop, chooses_a_version_until_a_life_has_restored_it) {
  Loop loop({.from = "5"});
  EXPECT_EQ(loop.first().life->version, "5 again");
  LifeEnd end = death();
  EXPECT_EQ(loop.after(end).life->version, "5 again");  // it died before it could
  end.snapshots.reset();                                // nobody knows how far it came
  EXPECT_EQ(loop.after(end).life->version, "5");
  end.restored = cairn::Identity{{1}, {5}, {1}};
  EXPECT_EQ(loop.after(end).life->version, "newest");
  end.restored.reset();
  EXPECT_EQ(loop.after(end).life->version, "newest");
  EXPECT_EQ(Loop().after(death()).life->version, "");
}

TEST(RestartLoop, chooses_a_label_as_a_version) {
  Loop loop({.from = "peak"});
  EXPECT_EQ(loop.first().life->version, "peak again");
  LifeEnd end = death();
  end.snapshots.reset();
  EXPECT_EQ(loop.after(end).life->version, "peak");
  end.restored = cairn::Identity{{1}, {5}, {1}};
  EXPECT_EQ(loop.after(end).life->version, "newest");
}

// A life that has restored a version and died; older ones are there.
LifeEnd death_of(std::uint32_t version, std::vector<std::uint32_t> older, bool all_seen = true) {
  LifeEnd end = death();
  end.restored = cairn::Identity{{1}, {version}, {1}};
  end.older = {std::move(older), all_seen};
  return end;
}

TEST(RestartLoop, names_older_versions_when_two_lives_in_a_row_come_no_further) {
  Loop loop;
  EXPECT_THAT(loop.after(death_of(7, {6, 4})).text, Not(Names({"older versions"})));
  const auto step = loop.after(death_of(7, {6, 4}));
  EXPECT_EQ(step.life->version, "");
  EXPECT_THAT(step.text, Names({"older versions that can be restored: 6, 4", "--step-back", "--from 6"}));
  EXPECT_THAT(loop.after(death_of(7, {})).text, Not(Names({"older versions"})));
  EXPECT_THAT(loop.after(death_of(8, {7, 6})).text, Not(Names({"older versions"})));
}

TEST(RestartLoop, names_older_versions_when_it_gives_up) {
  Loop loop;
  Step step;
  for (int i = 0; i < 5; ++i) step = loop.after(death_of(7, {6, 4}));
  EXPECT_FALSE(step.life);
  EXPECT_THAT(step.text, Names({"4 runs in a row", "older versions that can be restored: 6, 4"}));
}

TEST(RestartLoop, steps_back_from_version_to_version_if_it_is_told_to) {
  Loop loop({.step_back = true});
  EXPECT_EQ(loop.after(death_of(7, {6, 4})).life->version, "");
  const auto step = loop.after(death_of(7, {6, 4}));
  EXPECT_EQ(step.life->version, "6 again");
  EXPECT_THAT(step.text, Names({"the job rolls back to version 6 (--step-back)"}));
  EXPECT_EQ(loop.after(death_of(6, {4})).life->version, "newest");
  EXPECT_EQ(loop.after(death_of(6, {4})).life->version, "4 again");
  EXPECT_EQ(loop.after(death_of(4, {})).life->version, "newest");
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(loop.after(death_of(4, {})).life);
  EXPECT_THAT(loop.after(death_of(4, {})).text, Names({"gave up", "4 runs in a row"}));
}

TEST(RestartLoop, does_not_step_back_from_a_branch_that_comes_further) {
  Loop loop({.step_back = true});
  (void)loop.after(death_of(7, {6}));
  EXPECT_EQ(loop.after(death_of(7, {6})).life->version, "6 again");
  for (const std::uint32_t version : {6, 9, 11}) EXPECT_EQ(loop.after(death_of(version, {5})).life->version, "newest");
}

TEST(RestartLoop, steps_back_one_life_later_where_other_hosts_may_have_a_newer_version) {
  Loop loop({.step_back = true});
  EXPECT_EQ(loop.after(death_of(7, {6}, false)).life->version, "");
  EXPECT_EQ(loop.after(death_of(7, {6}, false)).life->version, "");
  EXPECT_EQ(loop.after(death_of(7, {6}, false)).life->version, "6 again");
}

TEST(RestartLoop, steps_back_instead_of_giving_up_on_a_cause_that_comes_again) {
  Loop loop({.step_back = true});
  const auto failed = [](const LifeEnd& end) {
    return with_mark(end, Kind::failed, "rank 1 threw", Cause{Cause::Source::exception, Code::mismatch, "threw"});
  };
  for (int i = 0; i < 2; ++i) EXPECT_EQ(loop.after(failed(death_of(7, {6}, false))).life->version, "");
  EXPECT_EQ(loop.after(failed(death_of(7, {6}, false))).life->version, "6 again");
}

// Lost hosts are another cause, and a program that forgets to finalize does so from any version.
TEST(RestartLoop, does_not_step_back_because_of_lost_hosts_or_a_missing_finalize) {
  Loop loop({.spare_hosts = {"s", "t", "u"}, .step_back = true});
  EXPECT_EQ(loop.after(death_of(7, {6})).life->version, "");
  EXPECT_EQ(loop.after(with_loss(death_of(7, {6}), {"a"})).life->version, "");
  EXPECT_EQ(loop.after(with_loss(death_of(7, {6}), {"b"})).life->version, "");
  Loop forgetful({.step_back = true});
  LifeEnd end = with_mark(death_of(7, {6}), Kind::opened);
  end.code = 0;
  EXPECT_TRUE(forgetful.after(end).life);
  EXPECT_FALSE(forgetful.after(end).life);
}

TEST(RestartLoop, does_not_start_fresh_because_a_chosen_version_is_not_there) {
  Loop loop({.fresh_if_unrecoverable = true, .from = "5"});
  EXPECT_FALSE(loop.after(with_mark(death(), Kind::error, "no version 5",
                                    Cause{Cause::Source::error, Code::version_unavailable, {}}))
                   .life);
}

TEST(RestartLoop, chooses_no_version_after_a_fresh_start) {
  Loop loop({.fresh_if_unrecoverable = true, .from = "5"});
  const LifeEnd lost =
      with_mark(death(false, 1), Kind::error, "no snapshot", Cause{Cause::Source::error, Code::unrecoverable, {}});
  EXPECT_EQ(loop.after(lost).life->version, "newest");
  EXPECT_EQ(loop.after(death()).life->version, "newest");
}

TEST(RestartLoop, gives_up_where_one_fresh_start_after_another_comes_to_no_snapshot) {
  Loop loop({.fresh_if_unrecoverable = true});
  const LifeEnd lost =
      with_mark(death(false, 1), Kind::error, "no snapshot", Cause{Cause::Source::error, Code::unrecoverable, {}});
  int lives = 0;
  while (lives < 20 && loop.after(lives % 2 == 0 ? lost : death(false)).life) ++lives;
  EXPECT_LT(lives, 20);
}

// Before anything ran the command cannot be used; afterwards there is something to keep.
TEST(RestartLoop, says_that_snapshots_are_kept_when_a_later_life_cannot_be_started) {
  const cairn::Error error{cairn::Code::io, "/global: Read-only file system", {}};
  Loop loop;
  EXPECT_EQ(loop.not_started(error).code, kUnusable);
  EXPECT_TRUE(loop.after(death()).life);
  const auto step = loop.not_started(error);
  EXPECT_FALSE(step.life);
  EXPECT_EQ(step.code, kGaveUp);
  EXPECT_THAT(step.text, AllOf(Names({"/global", "Read-only file system"}), Names({"ckpt-tool list"})));
}

TEST(RestartLoop, gives_up_at_once_on_a_job_that_never_came_to_open_a_session) {
  LifeEnd end = death(false, 1);
  end.opened = false;
  const auto step = Loop().after(end);
  EXPECT_FALSE(step.life);
  EXPECT_THAT(step.text, AllOf(Names({"code 1", "session"}), Not(Names({"ckpt-tool"}))));
  // A rank that is killed while it starts is another thing, and so is one in a later life.
  end.killed = true;
  EXPECT_TRUE(Loop().after(end).life);
  Loop later;
  EXPECT_TRUE(later.after(death()).life);
  end.killed = false;
  EXPECT_TRUE(later.after(end).life);
}

LifeEnd without_session(int code) {
  LifeEnd end = death(false, code);
  end.opened = false;
  end.kept = false;
  return end;
}

TEST(RestartLoop, takes_a_program_that_ends_with_code_0_and_opened_no_session_for_finished) {
  const auto step = Loop().after(without_session(0));
  EXPECT_FALSE(step.life);
  EXPECT_EQ(step.code, kFinished);
  EXPECT_THAT(step.text, Names({"mpirun", "code 0", "session"}));
  // Not if ckpt-run has ended it, nor if an earlier life had a session.
  LifeEnd ended = without_session(0);
  ended.ended_here = true;
  EXPECT_TRUE(Loop().after(ended).life);
  Loop later;
  EXPECT_TRUE(later.after(death()).life);
  EXPECT_TRUE(later.after(without_session(0)).life);
}

TEST(RestartLoop, says_that_the_command_is_wrong_where_the_program_cannot_be_run) {
  LifeEnd end = without_session(132);
  end.not_run = "./heta: No such file or directory";
  const auto step = Loop().after(end);
  EXPECT_FALSE(step.life);
  EXPECT_EQ(step.code, kUnusable);
  EXPECT_THAT(step.text, AllOf(Names({"./heta", "No such file or directory"}), Not(Names({"ckpt-tool"}))));
  // Somebody has removed it since.
  Loop later;
  EXPECT_TRUE(later.after(death()).life);
  const auto next = later.after(end);
  EXPECT_TRUE(next.life);
  EXPECT_THAT(next.text, Names({"./heta", "No such file or directory"}));
}

// Such a program may take a snapshot in each life, and so comes further each time.
TEST(RestartLoop, asks_for_finalize_where_a_program_ends_without_it_and_gives_up_the_second_time_in_a_row) {
  std::uint32_t version = 0;
  const auto forgets = [&](int code) {
    LifeEnd end = with_mark(death(true, code), Kind::opened);
    end.restored = {cairn::Incarnation{++version}, cairn::Version{version}, {}};
    return end;
  };
  Loop loop;
  const auto first = loop.after(forgets(0));
  EXPECT_TRUE(first.life);
  EXPECT_THAT(first.text, Names({"code 0", "finalize()", "cairn_finalize", "restart 1"}));
  const auto killed = loop.after(forgets(137));
  EXPECT_TRUE(killed.life);
  EXPECT_THAT(killed.text, Not(Names({"finalize()"})));
  EXPECT_TRUE(loop.after(forgets(0)).life);
  const auto step = loop.after(forgets(0));
  EXPECT_FALSE(step.life);
  EXPECT_EQ(step.code, kGaveUp);
  EXPECT_THAT(step.text, Names({"code 0", "finalize()", "cairn_finalize"}));
  // Where a job repairs itself, the launcher's code says nothing.
  Loop mending({}, {"a"}, "[recovery]\nmode = spares");
  EXPECT_TRUE(mending.after(forgets(0)).life);
  EXPECT_TRUE(mending.after(forgets(0)).life);
}

TEST(RestartLoop, names_the_list_of_snapshots_only_if_there_are_some) {
  for (const auto& [kept, named] : {std::pair<std::optional<bool>, bool>{true, true}, {false, false}, {{}, true}}) {
    LifeEnd end = with_mark(death(false, 1), Kind::error, "a wrong key");
    end.kept = kept;
    const auto step = Loop().after(end);
    EXPECT_EQ(step.code, kGaveUp);
    EXPECT_EQ(cairn::test::has_thing(step.text, "ckpt-tool list"), named);
    end = death(false);
    end.interrupted = true;
    end.kept = kept;
    EXPECT_EQ(cairn::test::has_thing(Loop().after(end).text, "same command"), named);
  }
}

// Its launcher's code does not tell whether a process was killed.
TEST(RestartLoop, gives_a_job_that_mends_itself_one_start_more_when_no_session_was_opened) {
  LifeEnd end = death(false, 1);
  end.opened = false;
  Loop loop({}, {"a", "b", "c"}, "[recovery]\nmode = spares\nspares = 1\n");
  EXPECT_TRUE(loop.after(end).life);
  EXPECT_THAT(loop.after(end).text, Names({"session"}));
}

TEST(RestartLoop, gives_a_job_whose_launcher_may_have_failed_one_start_more_when_no_session_was_opened) {
  LifeEnd end = death(false, 255);
  end.opened = false;
  end.launcher_failed = true;
  Loop loop;
  EXPECT_TRUE(loop.after(end).life);
  EXPECT_THAT(loop.after(end).text, Names({"session"}));
}

TEST(RestartLoop, restarts_a_life_that_it_has_ended_since_ranks_died_before_there_was_a_session) {
  LifeEnd end = death(false, 143);
  end.opened = false;
  end.ended_here = true;
  EXPECT_TRUE(Loop().after(end).life);
}

const Cause kBadInput{Cause::Source::exception, {}, "bad input"};

TEST(RestartLoop, gives_up_when_the_same_cause_comes_twice_without_a_snapshot_between) {
  int lives = 0;
  const auto failure = [&](bool snapshots) {
    return with_mark(death(snapshots, 1), Kind::failed, fmt::format("bad input in life {}", ++lives), kBadInput);
  };
  Loop loop;
  EXPECT_TRUE(loop.after(failure(true)).life);
  EXPECT_TRUE(loop.after(failure(false)).life);
  EXPECT_TRUE(loop.after(failure(true)).life);
  EXPECT_TRUE(loop.after(failure(false)).life);
  const auto step = loop.after(failure(false));
  EXPECT_FALSE(step.life);
  EXPECT_EQ(step.code, kGaveUp);
  EXPECT_THAT(step.text, Names({"bad input in life 5"}));
}

// Words say nothing: an older Cairn gives no cause, and that a peer is gone is not the cause.
TEST(RestartLoop, goes_on_where_the_cause_is_not_known_or_another_one) {
  const auto failure = [](std::optional<Cause> cause) {
    return with_mark(death(false, 1), Kind::failed, "it failed", std::move(cause));
  };
  const Cause peer{Cause::Source::error, Code::communication, {}};
  const Cause full{Cause::Source::error, Code::no_space, "v1/rank000007.shard"};
  const Cause full_elsewhere{Cause::Source::error, Code::no_space, "v1/rank000008.shard"};
  for (const auto& [first, second] : {std::pair<std::optional<Cause>, std::optional<Cause>>{std::nullopt, std::nullopt},
                                      {peer, peer},
                                      {kBadInput, full},
                                      {full, full_elsewhere}}) {
    Loop loop;
    EXPECT_TRUE(loop.after(failure(first)).life);
    EXPECT_TRUE(loop.after(failure(second)).life);
  }
  Loop loop;
  EXPECT_TRUE(loop.after(failure(full)).life);
  EXPECT_FALSE(loop.after(failure(full)).life);
}

TEST(RestartLoop, gives_up_when_four_lives_in_a_row_take_no_snapshot) {
  Loop loop;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(loop.after(death(false)).life);
    EXPECT_TRUE(loop.after(death(true)).life);
  }
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(loop.after(death(false)).life);
  EXPECT_THAT(loop.after(death(false)).text, Names({"4", "code 137"}));
}

// As after a crash that comes again after every restore.
TEST(RestartLoop, gives_up_when_lives_go_on_from_the_same_snapshot_again_and_again) {
  const auto after_restore = [](std::uint32_t version) {
    LifeEnd end = death(true);
    end.restored = {cairn::Incarnation{version}, cairn::Version{version}, {}};
    return end;
  };
  Loop loop;
  EXPECT_TRUE(loop.after(death(true)).life);
  for (std::uint32_t version : {4U, 4U, 4U, 4U, 5U, 5U, 5U, 5U}) EXPECT_TRUE(loop.after(after_restore(version)).life);
  const auto step = loop.after(after_restore(5));
  EXPECT_FALSE(step.life);
  EXPECT_THAT(step.text, Names({"4", "code 137"}));
}

TEST(RestartLoop, goes_on_as_long_as_each_life_goes_on_from_a_newer_snapshot) {
  Loop loop;
  for (std::uint32_t life = 1; life < 20; ++life) {
    LifeEnd end = death(true);
    end.restored = {cairn::Incarnation{life}, cairn::Version{life}, {}};
    EXPECT_TRUE(loop.after(end).life);
  }
}

TEST(RestartLoop, puts_spare_hosts_in_the_places_of_lost_ones_and_tells_which_nodes_are_lost) {
  Loop loop({.spare_hosts = {"s", "t"}});
  const auto step = loop.after(with_loss(death(), {"b"}));
  ASSERT_TRUE(step.life);
  HostNames hosts;
  for (const HostRanks& host : step.life->placement.hosts) hosts.push_back(host.host);
  EXPECT_THAT(hosts, ElementsAre("a", "s", "c"));
  EXPECT_THAT(step.life->failures.lost_nodes, ElementsAre(1));
  EXPECT_THAT(step.life->failures.dead_ranks, ElementsAre(2));
  EXPECT_THAT(step.text, Names({"b", "restart 1"}));
  // The next life's nodes have its own numbers; what was lost before is not lost again.
  const auto next = loop.after(with_loss(death(), {"s"}));
  ASSERT_TRUE(next.life);
  EXPECT_EQ(next.life->placement.hosts[1].host, "t");
  EXPECT_THAT(next.life->failures.lost_nodes, ElementsAre(1));
  EXPECT_THAT(loop.after(death()).life->failures.lost_nodes, IsEmpty());
}

TEST(RestartLoop, tells_which_ranks_are_dead_for_certain) {
  auto end = with_loss(death(), {"b"});
  end.dead_ranks = {0, 2};
  const auto step = Loop({.spare_hosts = {"s"}}).after(end);
  ASSERT_TRUE(step.life);
  EXPECT_THAT(step.life->failures.dead_ranks, UnorderedElementsAre(0, 2));
  EXPECT_THAT(step.life->failures.lost_nodes, ElementsAre(1));
}

TEST(RestartLoop, without_spare_hosts_gives_up_or_goes_on_with_fewer_as_allowed) {
  const auto step = Loop().after(with_loss(death(), {"c"}));
  EXPECT_FALSE(step.life);
  EXPECT_THAT(step.text, Names({"c", "--spare-hosts", "--shrink-hosts"}));

  Loop shrinking({.shrink_hosts = true});
  const auto smaller = shrinking.after(with_loss(death(), {"c"}));
  ASSERT_TRUE(smaller.life);
  ASSERT_EQ(smaller.life->placement.hosts.size(), 2U);
  EXPECT_EQ(smaller.life->placement.most_on_a_host(), 3U);
  EXPECT_FALSE(shrinking.after(with_loss(death(), {"a", "b"})).life);
}

HostNames hosts_of(const Step& step);

std::vector<std::size_t> ranks_by_host(const Step& step) {
  std::vector<std::size_t> ranks;
  for (const HostRanks& host : step.life->placement.hosts) ranks.push_back(host.application_ranks.size());
  return ranks;
}

LifeEnd with_return(LifeEnd end, const HostNames& hosts) {
  end.back_hosts = hosts;
  return end;
}

TEST(RestartLoop, goes_on_with_the_ranks_of_the_hosts_that_are_left_and_grows_again_when_hosts_are_back) {
  Loop loop({.fewest = 2}, {"a", "b", "c"});
  EXPECT_THAT(ranks_by_host(loop.first()), ElementsAre(2, 1, 1));
  const auto fewer = loop.after(with_loss(death(), {"b"}));
  ASSERT_TRUE(fewer.life);
  EXPECT_THAT(hosts_of(fewer), ElementsAre("a", "c"));
  EXPECT_THAT(ranks_by_host(fewer), ElementsAre(2, 1));
  EXPECT_THAT(fewer.life->failures.lost_nodes, ElementsAre(1));
  EXPECT_THAT(fewer.text, Names({"lost", "b", "3 application ranks"}));
  EXPECT_THAT(loop.away(), ElementsAre("b"));
  // It wins over fewer hosts with more ranks each.
  Loop both({.fewest = 2, .shrink_hosts = true}, {"a", "b", "c"});
  EXPECT_THAT(ranks_by_host(both.after(with_loss(death(), {"a"}))), ElementsAre(1, 1));
  // In its own place.
  const auto again = loop.after(with_return(death(), {"b"}));
  ASSERT_TRUE(again.life);
  EXPECT_THAT(hosts_of(again), ElementsAre("a", "b", "c"));
  EXPECT_THAT(ranks_by_host(again), ElementsAre(2, 1, 1));
  EXPECT_THAT(again.text, Names({"back", "b", "4 application ranks"}));
  EXPECT_THAT(loop.away(), IsEmpty());
}

TEST(RestartLoop, gives_up_where_the_hosts_that_are_left_have_too_few_ranks) {
  Loop loop({.fewest = 2}, {"a", "b", "c"});
  ASSERT_TRUE(loop.after(with_loss(death(), {"a"})).life);
  const auto step = loop.after(with_loss(death(), {"c"}));
  EXPECT_FALSE(step.life);
  EXPECT_EQ(step.code, kGaveUp);
  EXPECT_THAT(step.text, AllOf(Names({"c", "1", "--ranks 2:4"}), Names({"ckpt-tool list"})));
  EXPECT_FALSE(Loop({.fewest = 1}, {"a", "b", "c"}).after(with_loss(death(), {"a", "b", "c"})).life);
}

TEST(RestartLoop, uses_spare_hosts_before_it_goes_on_with_fewer_ranks) {
  Loop loop({.fewest = 1, .spare_hosts = {"s"}}, {"a", "b"});
  const auto replaced = loop.after(with_loss(death(), {"a"}));
  EXPECT_THAT(hosts_of(replaced), ElementsAre("s", "b"));
  EXPECT_THAT(ranks_by_host(replaced), ElementsAre(2, 2));
  EXPECT_THAT(loop.away(), IsEmpty());
  EXPECT_THAT(ranks_by_host(loop.after(with_loss(death(), {"s"}))), ElementsAre(2));
}

// Nodes that are simulated stay whole, too.
TEST(RestartLoop, keeps_whole_nodes_where_it_goes_on_with_fewer_ranks) {
  Loop loop({.fewest = 1}, {"a", "b"}, "[topology]\nnode_size = 2\n[head]\nmode = thread\n");
  EXPECT_EQ(loop.first().life->placement.nodes, 2U);
  const auto step = loop.after(with_loss(death(), {"a"}));
  ASSERT_TRUE(step.life);
  EXPECT_EQ(step.life->placement.nodes, 1U);
  EXPECT_THAT(ranks_by_host(step), ElementsAre(2));
}

TEST(RestartLoop, refuses_fewer_ranks_where_the_configuration_does_not_allow_them) {
  const auto sizes = Loop({.fewest = 2}, {"a"}, "[topology]\nnode_size = 3,3\n").first();
  EXPECT_FALSE(sizes.life);
  EXPECT_EQ(sizes.code, kUnusable);
  EXPECT_THAT(sizes.text, Names({"--ranks 2:4", "node_size = 3,3"}));
  const auto off = Loop({.fewest = 2}, {"a"}, "[restart]\nelastic = off\n").first();
  EXPECT_FALSE(off.life);
  EXPECT_EQ(off.code, kUnusable);
  EXPECT_THAT(off.text, Names({"--ranks 2:4", "elastic = off"}));
}

TEST(RestartLoop, names_the_range_of_ranks_when_it_gives_up_only_if_another_number_may_be_restored) {
  EXPECT_THAT(Loop().after(with_loss(death(), {"c"})).text, Names({"--ranks"}));
  EXPECT_THAT(Loop({}, {"a", "b"}, "[restart]\nelastic = off\n").after(with_loss(death(), {"b"})).text,
              Not(Names({"--ranks"})));
}

LifeEnd with_sick(LifeEnd end, const HostNames& hosts) {
  end.sick_hosts = hosts;
  return end;
}

HostNames hosts_of(const Step& step) {
  HostNames hosts;
  for (const HostRanks& host : step.life->placement.hosts) hosts.push_back(host.host);
  return hosts;
}

TEST(RestartLoop, moves_from_sick_hosts_to_spare_ones_that_are_well_and_takes_the_sick_ones_last) {
  Loop loop({.spare_hosts = {"s", "t"}});
  const auto step = loop.after(with_sick(death(), {"b.cluster", "s"}));
  ASSERT_TRUE(step.life);
  EXPECT_THAT(hosts_of(step), ElementsAre("a", "t", "c"));
  EXPECT_THAT(step.life->failures.lost_nodes, ElementsAre(1)) << "its store is not there any more";
  EXPECT_THAT(step.text, Names({"b", "restart 1"}));
  // Nobody else is left.
  EXPECT_THAT(hosts_of(loop.after(with_loss(death(), {"a"}))), ElementsAre("s", "t", "c"));
  EXPECT_THAT(hosts_of(loop.after(with_loss(death(), {"c"}))), ElementsAre("s", "t", "b"));
}

TEST(RestartLoop, uses_sick_hosts_where_there_are_no_others_and_says_so) {
  Loop loop;
  const auto step = loop.after(with_sick(death(), {"b"}));
  ASSERT_TRUE(step.life);
  EXPECT_THAT(hosts_of(step), ElementsAre("a", "b", "c"));
  EXPECT_THAT(step.life->failures.lost_nodes, IsEmpty());
  EXPECT_THAT(step.text, Names({"b"}));
}

TEST(RestartLoop, starts_a_job_on_its_sick_hosts_again_that_cannot_start_without_them) {
  Loop loop({.spare_hosts = {"s"}});
  ASSERT_TRUE(loop.after(with_sick(death(), {"b"})).life);
  const auto back = loop.after(with_sick(with_mark(death(false), Kind::error, "unrecoverable"), {"b"}));
  ASSERT_TRUE(back.life);
  EXPECT_THAT(hosts_of(back), ElementsAre("a", "b", "c"));
  EXPECT_THAT(back.life->failures.lost_nodes, IsEmpty());
  // It stays there, and the next error is its own.
  EXPECT_THAT(hosts_of(loop.after(with_sick(death(), {"b"}))), ElementsAre("a", "b", "c"));
  EXPECT_FALSE(loop.after(with_mark(death(false), Kind::error, "unrecoverable")).life);
}

TEST(RestartLoop, gives_up_on_an_error_of_a_life_that_was_moved_and_came_further) {
  Loop loop({.spare_hosts = {"s"}});
  ASSERT_TRUE(loop.after(with_sick(death(), {"b"})).life);
  EXPECT_FALSE(loop.after(with_mark(death(true), Kind::error, "mismatch")).life);
}

TEST(RestartLoop, takes_a_lost_host_for_the_cause_of_a_life_without_snapshots) {
  Loop loop({.shrink_hosts = true});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(loop.after(death(false)).life);
  EXPECT_TRUE(loop.after(with_loss(death(false), {"b"})).life);
  EXPECT_TRUE(loop.after(death(false)).life);
}

TEST(RestartLoop, tells_a_life_to_go_on_once_an_earlier_one_took_a_snapshot) {
  Loop loop;
  EXPECT_FALSE(loop.first().life->goes_on);
  EXPECT_FALSE(loop.after(death(false)).life->goes_on);
  EXPECT_TRUE(loop.after(death(true)).life->goes_on);
  EXPECT_TRUE(loop.after(death(false)).life->goes_on);
  LifeEnd unknown = death();
  unknown.snapshots.reset();
  EXPECT_FALSE(Loop().after(unknown).life->goes_on);
}

TEST(RestartLoop, ends_when_it_is_interrupted) {
  LifeEnd end = death();
  end.interrupted = true;
  const auto step = Loop().after(end);
  EXPECT_FALSE(step.life);
  EXPECT_EQ(step.code, kInterrupted);
}

TEST(RestartLoop, refuses_ranks_that_cannot_be_placed_as_unusable) {
  EXPECT_EQ(Loop({}, {"a", "b", "c", "d", "e"}).first().code, kUnusable);
}

}  // namespace
}  // namespace ckpt_run
