// What tests find in an error or a line: whole names and numbers, and nothing that only looks like them.
#include "support/facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cairn::test {
namespace {

using testing::Not;
using testing::SizeIs;

TEST(Thing, is_found_as_a_whole_word) {
  EXPECT_TRUE(has_thing("node 2 lost rank 3", "rank 3"));
  EXPECT_FALSE(has_thing("node 2 lost rank 31", "rank 3"));
  EXPECT_FALSE(has_thing("crank 3", "rank 3"));
  EXPECT_FALSE(has_thing("waited 120 s", "12"));
  EXPECT_FALSE(has_thing("waited 0.12 s", "12"));
  EXPECT_FALSE(has_thing("waited 12.5 s", "12"));
  EXPECT_TRUE(has_thing("waited 12.", "12"));
  EXPECT_FALSE(has_thing("keep_local = 3", "local"));
  EXPECT_TRUE(has_thing("[storage] local=3", "[storage] local"));
  EXPECT_TRUE(has_thing("restore() failed", "restore()"));
  EXPECT_TRUE(has_thing("/a/b: full", "/a/b"));
  EXPECT_FALSE(has_thing("/a/bc: full", "/a/b"));
  EXPECT_FALSE(has_thing("anything", ""));
}

TEST(Thing, with_a_number_is_found_in_a_list_of_its_kind) {
  for (const char* list :
       {"ranks 1, 3", "ranks 2 and 3", "ranks 1, 2, and 3", "ranks 2 to 4", "ranks 0, 2-4", "rank 3"})
    EXPECT_TRUE(has_thing(list, "rank 3")) << list;
  for (const char* list : {"ranks 1, 2, 4", "ranks 4 to 9", "ranks 1, 31", "nodes 1, 3", "ranks", "3 ranks"})
    EXPECT_FALSE(has_thing(list, "rank 3")) << list;
  EXPECT_TRUE(has_thing("v17 is whole", "version 17"));
  EXPECT_TRUE(has_thing("the last version, 17, is whole", "version 17"));
  EXPECT_FALSE(has_thing("v170 is whole", "version 17"));
}

TEST(Fails, asks_for_the_code_and_for_all_things_in_message_or_hint) {
  const Error error{Code::config, "cairn.ini:7: [job] tap = maybe", "write on or off"};
  EXPECT_THAT(error, Fails(Code::config, {"cairn.ini:7", "[job] tap", "maybe", "on", "off"}));
  EXPECT_THAT(error, Not(Fails(Code::io, {"[job] tap"})));
  EXPECT_THAT(error, Not(Fails(Code::config, {"[job] name"})));
  EXPECT_THAT(Result<int>(fail(error)), Fails(Code::config));
  EXPECT_THAT(Result<int>(1), Not(Fails(Code::config)));
  EXPECT_THAT(std::optional<Error>(), Not(Fails(Code::config)));
}

TEST(Fails, asks_for_one_exception_of_the_kind_that_names_all_things) {
  const Thrown thrown = thrown_by([] { throw Exception(ErrorKind::storage, "version 2, L3"); }, [] {},
                                  [] { throw Exception(ErrorKind::usage, "rank 1"); });
  EXPECT_THAT(thrown, SizeIs(2));
  EXPECT_THAT(thrown, Fails(ErrorKind::storage, {"version 2", "L3"}));
  EXPECT_THAT(thrown, Fails(ErrorKind::usage, {"rank 1"}));
  EXPECT_THAT(thrown, Not(Fails(ErrorKind::storage, {"version 2", "rank 1"})));
  EXPECT_THAT(thrown, Not(Fails(ErrorKind::mismatch)));
  EXPECT_THAT(thrown_by([] {}), Not(Fails(ErrorKind::storage)));
}

TEST(Names, asks_for_one_line_with_all_things) {
  const std::string log = "cairn: rank 1 waits\ncairn: rank 2 waits for node 3\n";
  EXPECT_THAT(log, Names({"rank 2", "node 3"}));
  EXPECT_THAT(log, Not(Names({"rank 1", "node 3"})));
  EXPECT_THAT(lines_that_name(log, {"cairn"}), SizeIs(2));
  EXPECT_THAT(std::pair(LogLevel::error, log), Names(LogLevel::error, {"rank 1"}));
  EXPECT_THAT(std::pair(LogLevel::info, log), Not(Names(LogLevel::error, {"rank 1"})));
}

}  // namespace
}  // namespace cairn::test
