#include "session/handover.hpp"

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_directory.hpp"

namespace cairn {
namespace {

using Kind = CompletionMark::Kind;
using test::TempDirectory;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(CompletionMark, comes_back_from_its_file_as_it_was_left) {
  const TempDirectory directory("/tmp");
  const std::string path = directory.path() + "/mark";
  for (const CompletionMark& mark :
       {CompletionMark{Kind::opened, {}}, CompletionMark{Kind::finished, {}}, CompletionMark{Kind::stopped, {}},
        CompletionMark{Kind::error, "heat.ini:7: no such key"}, CompletionMark{Kind::failed, "std::bad_alloc"}}) {
    ASSERT_TRUE(write_mark(path, mark));
    EXPECT_EQ(read_mark(path).value(), mark);
  }
}

TEST(CompletionMark, that_cannot_be_replaced_stays_as_it_is) {
  const TempDirectory directory("/tmp");
  const std::string path = directory.path() + "/mark";
  const CompletionMark mark{Kind::error, "regions do not match"};
  ASSERT_TRUE(write_mark(path, mark));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit none{0, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  const auto written = write_mark(path, {Kind::failed, "killed"});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  (void)std::signal(SIGXFSZ, handler);
  EXPECT_FALSE(written);
  EXPECT_EQ(read_mark(path).value(), mark);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
}

TEST(CompletionMark, is_none_until_its_line_is_whole) {
  for (const std::string text : {"", "fini", "finished", "error half a messa"})
    EXPECT_EQ(parse_mark(text).value(), CompletionMark{}) << text;
}

TEST(CompletionMark, keeps_to_one_line_whatever_the_text_has) {
  const CompletionMark mark{Kind::failed, "two\nlines"};
  EXPECT_EQ(parse_mark(to_line(mark) + "rest of a longer one\n").value().text, "two lines");
}

TEST(CompletionMark, is_refused_when_it_says_something_else) {
  EXPECT_EQ(parse_mark("done\n").error().code, Code::corrupt);
  EXPECT_EQ(parse_mark("finishedx\n").error().code, Code::corrupt);
}

TEST(CompletionMark, that_is_not_there_is_told_from_one_that_says_nothing) {
  EXPECT_EQ(read_mark("/nowhere/mark").error().code, Code::not_found);
}

TEST(Handover, numbers_come_back_from_their_text) {
  EXPECT_EQ(numbers_text({3, 0, 17}), "3,0,17");
  EXPECT_THAT(parse_numbers("X", "3,0,17").value(), ElementsAre(3, 0, 17));
  EXPECT_THAT(parse_numbers("X", numbers_text({})).value(), IsEmpty());
  EXPECT_THAT(parse_numbers("X", "5").value(), ElementsAre(5));
}

TEST(Handover, numbers_that_were_started_come_back_from_their_text) {
  const StartedNumbers started{8, 2, 2};
  EXPECT_EQ(parse_started(started_text(started)).value(), started);
  EXPECT_EQ(parse_started("").value(), std::nullopt);
  EXPECT_EQ(parse_started("8,2").error().message, "CKPT_RUN_STARTED = 8,2: write ranks,heads,nodes or nothing");
}

TEST(Handover, text_that_is_no_numbers_is_refused_by_the_name_of_its_variable) {
  for (const std::string text : {"a", "1,", ",1", "1,,2", "1 2", "-1", "4294967296"}) {
    const auto numbers = parse_numbers(kLostNodesVariable, text);
    ASSERT_FALSE(numbers) << text;
    EXPECT_EQ(numbers.error().message, "CKPT_RUN_LOST_NODES = " + text + ": not numbers; write 1,3 or nothing");
  }
}

}  // namespace
}  // namespace cairn
