// What ranks and their head make of a control message that is not one of theirs.
#include <gtest/gtest.h>

#include "engine/messages.hpp"

namespace cairn {
namespace {

const Error kError{Code::io, "broken", "mend it"};

TEST(Messages, with_a_level_that_there_is_not_are_refused) {
  for (const int level : {0, kMostLevels + 1, 200}) {
    const auto read = decode_to_rank(encode(ToRank(Reached{{42}, static_cast<LevelId>(level)})));
    ASSERT_FALSE(read) << level;
    EXPECT_EQ(read.error().code, Code::communication);
  }
  EXPECT_TRUE(decode_to_rank(encode(ToRank(Reached{{42}, LevelId::global}))));
}

TEST(Messages, that_are_damaged_are_called_a_defect_of_cairn) {
  const auto read = decode_to_rank(Buffer(3));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().hint, fail_internal(Code::communication, "").value().hint);
  EXPECT_FALSE(read.error().hint.empty());
}

TEST(Messages, with_an_error_of_no_known_kind_are_refused) {
  Error unknown = kError;
  unknown.code = static_cast<Code>(77);
  EXPECT_FALSE(decode_to_rank(encode(ToRank(Trouble{unknown}))));
  EXPECT_FALSE(decode_to_head(encode(ToHead(Hello{unknown}))));
  EXPECT_TRUE(decode_to_head(encode(ToHead(Hello{kError}))));
}

TEST(Messages, with_a_byte_too_few_or_too_many_are_refused) {
  Buffer bytes = encode(ToRank(Trouble{kError}));
  bytes.push_back({});
  EXPECT_FALSE(decode_to_rank(bytes));
  bytes.resize(bytes.size() - 2);
  EXPECT_FALSE(decode_to_rank(bytes));
}

}  // namespace
}  // namespace cairn
