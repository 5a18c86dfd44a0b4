#include "base/sha256.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

namespace cairn {
namespace {

// FIPS 180-4's own examples.
constexpr std::string_view kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr std::string_view kEmpty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr std::string_view kMillionA = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

TEST(Sha256, gives_the_standard_s_digests) {
  EXPECT_EQ(sha256(bytes_of("abc")).hex(), kAbc);
  EXPECT_EQ(sha256({}).hex(), kEmpty);
  EXPECT_EQ(sha256(bytes_of(std::string(1'000'000, 'a'))).hex(), kMillionA);
}

TEST(Sha256, a_stream_in_pieces_gives_the_digest_of_the_whole) {
  const std::string text(1'000'000, 'a');
  Sha256Stream stream;
  for (std::size_t at = 0, piece = 1; at < text.size(); at += piece, piece = piece * 3 + 1) {
    stream.update(bytes_of(std::string_view(text).substr(at, piece)));
  }
  EXPECT_EQ(stream.finish().hex(), kMillionA);
}

TEST(Sha256, a_stream_starts_over_after_finish) {
  Sha256Stream stream;
  stream.update(bytes_of("something else"));
  (void)stream.finish();
  EXPECT_EQ(stream.finish().hex(), kEmpty);
  stream.update(bytes_of("abc"));
  EXPECT_EQ(stream.finish().hex(), kAbc);
}

// OpenSSL is first used after the handler is registered, as in a program whose handler finalizes its session. The
// process is a new one, since one that is forked has used OpenSSL already.
TEST(Sha256, is_there_in_handlers_of_exit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto exit_at_once = [] {
    std::atexit([] { std::_Exit(sha256(bytes_of("abc")).hex() == kAbc ? 0 : 1); });
    (void)sha256({});
    std::exit(2);
  };
  EXPECT_EXIT(exit_at_once(), testing::ExitedWithCode(0), "");
}

TEST(Sha256, hex_and_back_is_the_same_digest) {
  const Sha256 digest = sha256(bytes_of("abc"));
  const auto back = Sha256::from_hex(digest.hex());
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, digest);
}

TEST(Sha256, text_that_is_no_digest_is_refused) {
  const std::string good(kAbc);
  std::vector<std::string> all_bad = {"", good.substr(1), good + "0"};
  for (const char letter : {'g', 'B', '+', ' '}) {
    all_bad.push_back(good);
    all_bad.back().front() = letter;
  }
  for (const std::string& bad : all_bad) {
    const auto parsed = Sha256::from_hex(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_EQ(parsed.error().code, Code::corrupt);
  }
}

}  // namespace
}  // namespace cairn
