// Asks what a report on a job that may hang says, for tests: facts, no text.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include <gtest/gtest.h>

#include "hang/hang.hpp"

namespace cairn::test {

inline constexpr hang::ProcessFacts kComputes{hang::ProcessFacts::State::runs, true};
inline constexpr hang::ProcessFacts kIdles{hang::ProcessFacts::State::sleeps, false};
inline constexpr hang::ProcessFacts kStopped{hang::ProcessFacts::State::stopped, false};
inline constexpr hang::ProcessFacts kDead{hang::ProcessFacts::State::dead, std::nullopt};

[[nodiscard]] inline std::vector<Rank> ranks(std::initializer_list<std::uint32_t> numbers) {
  std::vector<Rank> all;
  for (const std::uint32_t number : numbers) all.push_back(Rank{number});
  return all;
}

// The first finding; the test fails if there is none.
[[nodiscard]] inline hang::Finding first(const hang::HangReport& report) {
  EXPECT_FALSE(report.findings.empty());
  return report.findings.empty() ? hang::Finding{.ranks = {}, .need = {}} : report.findings.front();
}

// In its order.
[[nodiscard]] inline std::vector<std::uint32_t> circle_of(const hang::Finding& finding) {
  std::vector<std::uint32_t> circle;
  for (const hang::Step& step : finding.circle) circle.push_back(step.rank);
  return circle;
}

// For what others wait because of the first finding; of a circle, for what `rank` waits. The test fails if there is no
// such need.
[[nodiscard]] inline hang::Need need_of(const hang::HangReport& report, std::uint32_t rank = 0) {
  const hang::Finding finding = first(report);
  if (finding.need) return report.needs.at(*finding.need);
  for (const hang::Step& step : finding.circle)
    if (step.rank == rank) return report.needs.at(step.need);
  ADD_FAILURE() << "no need of rank " << rank;
  return {.ranks = {}, .reason = {}, .call = {}};
}

}  // namespace cairn::test
