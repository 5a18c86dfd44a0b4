// ckpt-tool health: what it says of a file of rules.
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_tool.hpp"
#include "support/temp_directory.hpp"

namespace cairn::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::string rules_file(const TempDirectory& directory, const std::string& text) {
  std::string file = directory.path() + "/sick.rules";
  std::ofstream(file) << text;
  return file;
}

TEST(Health, prints_default_rules_that_pass_its_own_check) {
  const Outcome rules = run_tool("health --default-rules");
  EXPECT_EQ(rules.code, 0);
  const TempDirectory directory("/tmp");
  const Outcome checked = run_tool("health --check-rules " + rules_file(directory, rules.out));
  EXPECT_EQ(checked.code, 0);
  EXPECT_THAT(checked.out, HasSubstr("sick.rules: "));
  EXPECT_THAT(checked.out, HasSubstr("rules are in order"));
  EXPECT_THAT(checked.err, IsEmpty());
}

TEST(Health, names_file_line_and_what_would_be_right_for_every_mistake) {
  const TempDirectory directory("/tmp");
  const std::string file =
      rules_file(directory, "rule a\nif no_respons\nthen suspect node_down\nwhy it is off\nweight x 1\n");
  const Outcome checked = run_tool("health --check-rules " + file);
  EXPECT_EQ(checked.code, 1);
  EXPECT_THAT(checked.out, IsEmpty());
  EXPECT_THAT(checked.err, HasSubstr(file + ":2: unknown fact 'no_respons' (did you mean no_response?)\n"));
  EXPECT_THAT(checked.err, HasSubstr(file + ":5: unknown symptom 'x' (symptoms are heartbeat_missed, "));
}

TEST(Health, says_which_file_cannot_be_read_and_what_to_write) {
  const TempDirectory directory("/tmp");
  for (const std::string& file : {directory.path() + "/none", directory.path()}) {
    const Outcome checked = run_tool("health --check-rules " + file);
    EXPECT_EQ(checked.code, 2);
    EXPECT_THAT(checked.err, HasSubstr(file + ": cannot be read: "));
  }
  for (const char* const wrong : {"health", "health --default-rules --check-rules x"}) {
    const Outcome outcome = run_tool(wrong);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("write --check-rules FILE, or --default-rules"));
  }
}

}  // namespace
}  // namespace cairn::test
