#include "base/log.hpp"

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/facts.hpp"
#include "support/log_reading.hpp"

namespace cairn {
namespace {

using test::Fails;

TEST(Log, lines_start_with_the_library_s_name_and_say_how_grave_they_are) {
  testing::internal::CaptureStderr();
  const Log log(LogLevel::info);
  log.info("version {} restored", 42);
  log.warning("node {} is slow", 3);
  log.error("{}", "node 3 is lost, 100 % {}");
  log.debug("not said");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "cairn: version 42 restored\ncairn: warning: node 3 is slow\ncairn: error: node 3 is lost, 100 % {}\n");
}

TEST(Log, says_only_what_is_as_grave_as_its_level) {
  testing::internal::CaptureStderr();
  Log(LogLevel::error).warning("not said");
  Log::silent().error("not said");
  Log(LogLevel::debug).debug("said");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "cairn: said\n");
}

TEST(Log, passes_lines_of_its_level_to_the_function_that_was_set_and_writes_none) {
  testing::internal::CaptureStderr();
  const Log before;
  {
    const test::LogReading reading;
    before.warning("node {} is slow", 3);
    Log(LogLevel::error).info("not said");
    EXPECT_THAT(reading.lines(), testing::ElementsAre(testing::Pair(LogLevel::warning, "node 3 is slow")));
  }
  before.info("on stderr again");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "cairn: on stderr again\n");
}

TEST(Log, calls_that_function_from_one_thread_at_a_time) {
  std::atomic<int> inside{0};
  int together = 0;
  int lines = 0;
  set_log([&](LogLevel, const std::string&) {
    if (++inside > 1) ++together;
    ++lines;
    std::this_thread::yield();
    --inside;
  });
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([] {
        for (int line = 0; line < 250; ++line) Log().info("line {}", line);
      });
    }
  }
  set_log({});
  EXPECT_EQ(lines, 1000);
  EXPECT_EQ(together, 0);
}

TEST(Log, goes_on_when_that_function_throws) {
  set_log([](LogLevel, const std::string&) { throw std::runtime_error("no"); });
  EXPECT_NO_THROW(Log().error("a line"));
  set_log({});
}

TEST(Log, level_names_are_parsed_and_others_refused_with_the_list) {
  EXPECT_EQ(*parse_log_level("warning"), LogLevel::warning);
  EXPECT_EQ(*parse_log_level("off"), LogLevel::off);
  const auto unknown = parse_log_level("verbose");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown, Fails(Code::config, {"error", "warning", "info", "debug", "off"}));
}

}  // namespace
}  // namespace cairn
