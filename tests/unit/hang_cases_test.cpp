// Ways in which jobs hang or do not, one after another: what is found first is right, or it is not certain.
#include <gtest/gtest.h>

#include "hang/text.hpp"
#include "support/hang_cases.hpp"
#include "support/hang_facts.hpp"

namespace cairn::test {
namespace {

class HangCases : public testing::TestWithParam<HangCase> {};
INSTANTIATE_TEST_SUITE_P(Cases, HangCases, testing::ValuesIn(hang_cases()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(HangCases, has_its_cause) {
  const HangCase& tested = GetParam();
  const hang::HangReport report = tested.examine();
  SCOPED_TRACE(report_text("heat", report));
  EXPECT_EQ(report.verdict, tested.verdict);
  EXPECT_EQ(report.findings.empty(), !tested.cause);
  if (!tested.cause) return;
  EXPECT_EQ(first(report).cause, *tested.cause);
  EXPECT_EQ(first(report).certainty, tested.certainty);
  EXPECT_EQ(first(report).ranks, tested.ranks);
}

}  // namespace
}  // namespace cairn::test
