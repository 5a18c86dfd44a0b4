// Jobs of four ranks that hang, or only look as if they did, each in a way of its own, and what is to be found of each:
// the right cause, or that nothing is certain.
#pragma once

#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "hang/hang.hpp"
#include "support/sample_calls.hpp"

namespace cairn::test {

struct HangCase {
  std::string name;
  hang::Verdict verdict{};
  // Of the first finding; none: there is no finding.
  std::optional<hang::Cause> cause;
  hang::Certainty certainty{};
  std::vector<Rank> ranks;
  std::function<void(SampleCalls&)> prepare;

  [[nodiscard]] hang::HangReport examine() const;
};
void PrintTo(const HangCase& tested, std::ostream* out);

[[nodiscard]] std::vector<HangCase> hang_cases();

}  // namespace cairn::test
