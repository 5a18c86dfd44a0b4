// What a rehearsal finds in the notes of ranks.
#include "rehearsal_findings.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session/rehearsal_notes.hpp"
#include "support/temp_directory.hpp"

namespace ckpt_run {
namespace {

using cairn::NotedSafePoint;
using cairn::Rank;
using cairn::RankNotes;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;
using FindingKind = RehearsalFinding::Kind;

// Two ranks with two safe points, between which each sends a message to the other.
std::vector<RankNotes> good_notes() {
  std::vector<RankNotes> notes;
  for (const std::uint32_t rank : {0U, 1U}) {
    RankNotes one{.rank = Rank{rank}, .restored_after = 0, .finalized = true, .longest_quiet = milliseconds(20)};
    one.safe_points = {NotedSafePoint{.call = {}, .received = 0},
                       NotedSafePoint{.call = {}, .received = 1, .sent = {{Rank{1 - rank}, 1}}}};
    notes.push_back(one);
  }
  return notes;
}

std::vector<RehearsalFinding> found_in(const std::vector<RankNotes>& notes) {
  return findings_in(notes, milliseconds(1000));
}

TEST(RehearsalFindings, are_none_in_a_good_program_or_without_notes) {
  EXPECT_THAT(found_in(good_notes()), IsEmpty());
  EXPECT_THAT(found_in({}), IsEmpty());
}

TEST(RehearsalFindings, name_wrong_orders_of_calls) {
  auto notes = good_notes();
  notes[0].restored_after.reset();
  notes[1].restored_after.reset();
  EXPECT_THAT(found_in(notes),
              ElementsAre(RehearsalFinding{.kind = FindingKind::no_restore, .rank = Rank{0}, .ranks = 2}));
  notes = good_notes();
  notes[1].restored_after = 2;
  EXPECT_THAT(found_in(notes),
              ElementsAre(RehearsalFinding{.kind = FindingKind::snapshot_before_restore, .rank = Rank{1}, .count = 2}));
  notes = good_notes();
  notes[1].finalized = false;
  EXPECT_THAT(found_in(notes), ElementsAre(RehearsalFinding{.kind = FindingKind::no_finalize, .rank = Rank{1}}));
}

TEST(RehearsalFindings, name_each_region_that_is_protected_late) {
  auto notes = good_notes();
  notes[0].late = {"u"};
  notes[1].late = {"v", "u"};
  EXPECT_THAT(
      found_in(notes),
      ElementsAre(RehearsalFinding{.kind = FindingKind::protected_late, .rank = Rank{0}, .name = "u", .ranks = 2},
                  RehearsalFinding{.kind = FindingKind::protected_late, .rank = Rank{1}, .name = "v"}));
}

TEST(RehearsalFindings, name_the_rank_that_leaves_out_a_call) {
  auto notes = good_notes();
  notes[1].safe_points.pop_back();
  EXPECT_THAT(found_in(notes),
              ElementsAre(RehearsalFinding{
                  .kind = FindingKind::uneven_calls, .rank = Rank{1}, .other = Rank{0}, .call = 1, .count = 2}));
}

TEST(RehearsalFindings, name_the_first_call_with_a_pending_request) {
  auto notes = good_notes();
  notes[1].safe_points[1].pending = 3;
  notes[1].safe_points[1].call = "MPI_Irecv";
  EXPECT_THAT(found_in(notes),
              ElementsAre(RehearsalFinding{
                  .kind = FindingKind::pending_requests, .rank = Rank{1}, .call = 2, .count = 3, .name = "MPI_Irecv"}));
}

TEST(RehearsalFindings, name_a_message_that_is_under_way_at_a_safe_point) {
  auto notes = good_notes();
  notes[0].safe_points[0].sent[Rank{1}] = 1;
  EXPECT_THAT(found_in(notes), ElementsAre(RehearsalFinding{
                                   .kind = FindingKind::crossing_messages, .rank = Rank{1}, .call = 1, .count = 1}));
  notes[1].safe_points[0].counted = false;
  EXPECT_THAT(found_in(notes), IsEmpty()) << "a number that is not known";
}

TEST(RehearsalFindings, name_a_time_without_calls_that_is_longer_than_allowed) {
  auto notes = good_notes();
  notes[1].longest_quiet = milliseconds(1500);
  EXPECT_THAT(found_in(notes),
              ElementsAre(RehearsalFinding{.kind = FindingKind::long_quiet, .rank = Rank{1}, .count = 1500}));
  EXPECT_THAT(findings_in(notes, {}), IsEmpty());
  EXPECT_EQ(longest_quiet(notes).rank, Rank{1});
}

TEST(RehearsalFindings, have_names_and_sentences) {
  for (const FindingKind kind :
       {FindingKind::no_restore, FindingKind::snapshot_before_restore, FindingKind::protected_late,
        FindingKind::uneven_calls, FindingKind::no_finalize, FindingKind::pending_requests,
        FindingKind::crossing_messages, FindingKind::long_quiet}) {
    EXPECT_FALSE(name_of(kind).empty());
    EXPECT_FALSE(text_of({.kind = kind, .rank = Rank{0}}).empty());
  }
  EXPECT_EQ(
      text_of(RehearsalFinding{.kind = FindingKind::pending_requests,
                               .rank = Rank{1},
                               .call = 2,
                               .count = 1,
                               .name = "MPI_Irecv",
                               .ranks = 3}),
      "rank 1 and 2 more: 1 request is pending in call 2 of snapshot(), from MPI_Irecv: complete requests before");
}

TEST(RehearsalNotes, are_read_as_they_were_written) {
  const cairn::test::TempDirectory directory("/tmp");
  const NotedSafePoint first{
      .pending = 2, .call = "MPI_Isend", .counted = false, .received = 7, .sent = {{Rank{3}, 9}}};
  {
    cairn::RehearsalWriter one(directory.path(), Rank{12}), other(directory.path(), Rank{2});
    one.comes_to(first);
    one.restores();
    one.comes_to({});
    one.restores();
    one.is_late("a name");
    one.finalizes(milliseconds(31));
  }
  const RankNotes expected{.rank = Rank{12},
                           .safe_points = {first, {}},
                           .restored_after = 1,
                           .late = {"a name"},
                           .finalized = true,
                           .longest_quiet = milliseconds(31)};
  EXPECT_THAT(cairn::read_rehearsal(directory.path()), ElementsAre(RankNotes{.rank = Rank{2}}, expected));
  EXPECT_THAT(cairn::read_rehearsal(directory.path() + "/none"), IsEmpty());
}

}  // namespace
}  // namespace ckpt_run
