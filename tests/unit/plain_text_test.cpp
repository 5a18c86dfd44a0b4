#include "base/plain_text.hpp"

#include <gtest/gtest.h>

namespace cairn::test {
namespace {

TEST(PlainText, keeps_what_can_be_printed) {
  EXPECT_EQ(plain_text("residual 1e9 \xc3\xbc \xe2\x82\xac \xf0\x9f\x8c\x8a", 200),
            "residual 1e9 \xc3\xbc \xe2\x82\xac \xf0\x9f\x8c\x8a");
  EXPECT_EQ(plain_text("", 200), "");
}

TEST(Escaped, keeps_utf8_and_gives_any_bytes_back) {
  EXPECT_EQ(escaped("plate \xc3\xbc C:\\\\"), "plate \xc3\xbc C:\\\\");
  EXPECT_EQ(escaped("temp\xe9rature"), "temp\\xe9rature");
  EXPECT_EQ(escaped("\xe9\\"), "\\xe9\\\\");
  EXPECT_EQ(escaped("\\xe9"), "\\\\xe9");
  for (const char* const bytes : {"", "\\", "\\\\", "\\x", "\\\\x41", "\xff\\x41\\\\", "a\xc3", "\x1b[31m"}) {
    EXPECT_EQ(unescaped(escaped(bytes)), bytes);
    EXPECT_EQ(unescaped(escaped_for_terminal(bytes)), bytes);
    EXPECT_EQ(escaped(escaped(bytes)).find('\xff'), std::string::npos);
  }
  // Text that no one has escaped.
  EXPECT_EQ(unescaped("C:\\\\a"), "C:\\\\a");
  EXPECT_EQ(unescaped("\\xzz\\x"), "\\xzz\\x");
}

TEST(Escaped, shows_a_terminal_no_control_characters) {
  EXPECT_EQ(escaped_for_terminal("a\x1b[31m\x7f"), "a\\x1b[31m\\x7f");
  EXPECT_EQ(escaped("a\x1b"), "a\x1b");
}

TEST(PlainText, replaces_control_characters) {
  EXPECT_EQ(plain_text("a\nb\tc\x1b[31m\x7f", 200), "a b c [31m ");
  EXPECT_EQ(plain_text("a\xc2\x85"
                       "b",
                       200),
            "a b");
}

TEST(PlainText, replaces_bytes_that_are_not_utf8) {
  EXPECT_EQ(plain_text("a\xff\xc3", 200), "a??");
  EXPECT_EQ(plain_text("\xc0\xaf", 200), "??");            // longer than needed
  EXPECT_EQ(plain_text("\xed\xa0\x80", 200), "???");       // a surrogate
  EXPECT_EQ(plain_text("\xf4\x90\x80\x80", 200), "????");  // beyond Unicode
}

TEST(PlainText, is_cut_between_characters) {
  EXPECT_EQ(plain_text("abc", 2), "ab");
  EXPECT_EQ(plain_text("a\xe2\x82\xac", 3), "a");
  EXPECT_EQ(plain_text("a\xe2\x82\xac", 4), "a\xe2\x82\xac");
}

}  // namespace
}  // namespace cairn::test
