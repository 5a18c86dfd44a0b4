// What scripts are told of a job that may hang is what a person is told.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "hang/names.hpp"
#include "hang/text.hpp"
#include "hang_json.hpp"
#include "support/hang_cases.hpp"

namespace cairn::test {
namespace {

using namespace hang;  // NOLINT(google-build-using-namespace)

// Every sentence of the JSON is in the text, and every fact in the JSON is the report's.
void expect_agreement(const HangReport& report) {
  const std::string text = report_text("heat", report);
  const auto json = ckpt_tool::hang_json("heat", report);
  EXPECT_EQ(json["verdict"], name_of(report.verdict));
  EXPECT_TRUE(text.starts_with("job heat " + std::string(json["summary"]) + "\n")) << text;
  ASSERT_EQ(json["findings"].size(), report.findings.size());
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    const auto& shown = json["findings"][i];
    EXPECT_EQ(shown["cause"], name_of(report.findings[i].cause));
    EXPECT_EQ(shown["certainty"], name_of(report.findings[i].certainty));
    EXPECT_EQ(shown["ranks"].size(), report.findings[i].ranks.size());
    for (const std::string sentence : shown["text"]) EXPECT_NE(text.find("  " + sentence + "\n"), text.npos) << text;
  }
  for (const std::string sentence : json["note_texts"])
    EXPECT_NE(text.find("  note: " + sentence + "\n"), text.npos) << text;
  EXPECT_EQ(json["ranks"].size(), report.ranks.size());
}

class HangJson : public testing::TestWithParam<HangCase> {};
INSTANTIATE_TEST_SUITE_P(Cases, HangJson, testing::ValuesIn(hang_cases()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(HangJson, agrees_with_the_text) { expect_agreement(GetParam().examine()); }

}  // namespace
}  // namespace cairn::test
