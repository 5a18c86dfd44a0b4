#include "base/grouped.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cairn {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Grouped, gives_what_was_filed_under_a_number_in_the_order_of_filing) {
  Grouped<std::string> words;
  words.add(2, "b");
  words.add(0, "x");
  words.add(2, "a");
  words.close(4);
  EXPECT_THAT(words.of(0), ElementsAre("x"));
  EXPECT_THAT(words.of(1), IsEmpty());
  EXPECT_THAT(words.of(2), ElementsAre("b", "a"));
  EXPECT_THAT(words.of(3), IsEmpty());
}

TEST(Grouped, of_nothing_is_empty_under_every_number) {
  Grouped<int> none;
  none.close(3);
  for (std::uint32_t group = 0; group < 3; ++group) EXPECT_THAT(none.of(group), IsEmpty());
}

}  // namespace
}  // namespace cairn
