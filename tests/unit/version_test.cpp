#include <gtest/gtest.h>

#include <string>

#include <cairn/version.hpp>

namespace cairn {
namespace {

TEST(Version, is_that_of_the_project_in_parts_and_in_words) {
  const std::string parts = std::to_string(CAIRN_VERSION_MAJOR) + "." + std::to_string(CAIRN_VERSION_MINOR) + "." +
                            std::to_string(CAIRN_VERSION_PATCH);
  EXPECT_EQ(parts, PROJECT_VERSION);
  EXPECT_STREQ(CAIRN_VERSION_TEXT, PROJECT_VERSION);
}

TEST(Version, of_the_library_is_that_of_its_headers) { EXPECT_EQ(version(), CAIRN_VERSION); }

TEST(Version, grows_with_each_of_its_parts) {
  static_assert(CAIRN_VERSION_OF(1, 2, 3) == 10203);
  static_assert(CAIRN_VERSION_OF(0, 99, 99) < CAIRN_VERSION_OF(1, 0, 0));
  static_assert(CAIRN_VERSION_OF(1, 0, 99) < CAIRN_VERSION_OF(1, 1, 0));
  EXPECT_EQ(CAIRN_VERSION, CAIRN_VERSION_MAJOR * 10000 + CAIRN_VERSION_MINOR * 100 + CAIRN_VERSION_PATCH);
  // Else the next one would not be above this one.
  EXPECT_LT(CAIRN_VERSION_MINOR, 100);
  EXPECT_LT(CAIRN_VERSION_PATCH, 100);
}

}  // namespace
}  // namespace cairn
