#include "base/check.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cairn {
namespace {

TEST(Check, passes_what_holds) {
  check(true);
  check_slow([] { return true; });
}

TEST(Check, ends_the_process_and_names_the_place_of_what_does_not_hold) {
  const std::string here = "check_test\\.cpp:" + std::to_string(__LINE__ + 1);
  EXPECT_DEATH(check(false), "cairn: .*" + here + ": a check failed in .*Please report it");
}

TEST(Check, a_slow_check_calls_what_it_checks_only_where_slow_checks_are_on) {
  bool called = false;
  check_slow([&] { return called = true; });
  EXPECT_EQ(called, kChecksSlowly);
}

TEST(Check, a_slow_check_ends_the_process_only_where_slow_checks_are_on) {
  const auto fail = [] { check_slow([] { return false; }); };
  if (kChecksSlowly)
    EXPECT_DEATH(fail(), "a check failed");
  else
    fail();
}

}  // namespace
}  // namespace cairn
