#include "base/log.hpp"

#include <gtest/gtest.h>

namespace cairn {
namespace {

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

TEST(Log, level_names_are_parsed_and_others_refused_with_the_list) {
  EXPECT_EQ(*parse_log_level("warning"), LogLevel::warning);
  EXPECT_EQ(*parse_log_level("off"), LogLevel::off);
  const auto unknown = parse_log_level("verbose");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::config);
  EXPECT_NE(unknown.error().message.find("error, warning, info, debug or off"), std::string::npos);
}

}  // namespace
}  // namespace cairn
