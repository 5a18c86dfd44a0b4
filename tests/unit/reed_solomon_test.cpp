#include "codec/reed_solomon.hpp"

#include <bit>
#include <random>

#include <gtest/gtest.h>

#include "support/facts.hpp"

namespace cairn {
namespace {

using test::Fails;

// All rows of a code: random data and the parity that encode_row gives.
std::vector<Buffer> make_rows(const ReedSolomon& code, std::uint32_t data, std::uint32_t parity, std::size_t length) {
  std::mt19937_64 random(data * 1000 + parity);
  std::vector<Buffer> rows(data + parity, Buffer(length));
  for (std::uint32_t row = 0; row < data; ++row) {
    for (auto& byte : rows[row]) byte = static_cast<std::byte>(random());
  }
  const std::vector<Bytes> inputs(rows.begin(), rows.begin() + data);
  for (std::uint32_t p = 0; p < parity; ++p) code.encode_row(p).apply(inputs, rows[data + p]);
  return rows;
}

void expect_every_subset_gives_every_row(std::uint32_t data, std::uint32_t parity, std::size_t length) {
  const auto code = ReedSolomon::create(data, parity);
  ASSERT_TRUE(code) << code.error().text();
  const auto rows = make_rows(*code, data, parity, length);
  for (std::uint32_t set = 0; set < (1U << (data + parity)); ++set) {
    if (static_cast<std::uint32_t>(std::popcount(set)) != data) continue;
    std::vector<std::uint32_t> have;
    std::vector<Bytes> inputs;
    for (std::uint32_t row = 0; row < data + parity; ++row) {
      if ((set >> row & 1U) == 0) continue;
      have.push_back(row);
      inputs.emplace_back(rows[row]);
    }
    for (std::uint32_t wanted = 0; wanted < data + parity; ++wanted) {
      const auto combination = code->decode_row(wanted, have);
      ASSERT_TRUE(combination) << combination.error().text();
      Buffer out(length);
      combination->apply(inputs, out);
      EXPECT_EQ(out, rows[wanted]) << data << "+" << parity << " set " << set << " row " << wanted;
    }
  }
}

TEST(ReedSolomon, any_k_rows_give_back_every_other) {
  for (const auto& [data, parity] : {std::pair{2U, 1U}, {2U, 2U}, {3U, 2U}, {4U, 3U}, {6U, 2U}, {5U, 5U}}) {
    expect_every_subset_gives_every_row(data, parity, 137);
  }
}

TEST(ReedSolomon, one_data_row_is_copied_or_scaled_and_comes_back) { expect_every_subset_gives_every_row(1, 3, 64); }

TEST(ReedSolomon, works_without_parity) { expect_every_subset_gives_every_row(3, 0, 64); }

TEST(ReedSolomon, works_for_every_short_and_odd_length) {
  for (std::size_t length = 0; length < 70; ++length) expect_every_subset_gives_every_row(3, 2, length);
}

TEST(ReedSolomon, the_largest_code_rebuilds_a_row_from_parity) {
  const auto code = ReedSolomon::create(200, 55);
  ASSERT_TRUE(code);
  const auto rows = make_rows(*code, 200, 55, 32);
  std::vector<std::uint32_t> have;
  std::vector<Bytes> inputs;
  for (std::uint32_t row = 55; row < 255; ++row) {
    have.push_back(row);
    inputs.emplace_back(rows[row]);
  }
  for (const std::uint32_t wanted : {0U, 17U, 54U}) {
    Buffer out(32);
    code->decode_row(wanted, have).value().apply(inputs, out);
    EXPECT_EQ(out, rows[wanted]);
  }
}

TEST(ReedSolomon, refuses_codes_that_cannot_be) {
  EXPECT_FALSE(ReedSolomon::create(0, 1));
  EXPECT_FALSE(ReedSolomon::create(200, 56));
  EXPECT_FALSE(ReedSolomon::create(256, 0));
  EXPECT_FALSE(ReedSolomon::create(1, 0xffffffffU));
  EXPECT_TRUE(ReedSolomon::create(255, 0));
}

TEST(ReedSolomon, refuses_rows_that_cannot_be_decoded_from) {
  const auto code = ReedSolomon::create(3, 2);
  ASSERT_TRUE(code);
  EXPECT_EQ(code->decode_row(0, {1, 2}).error().code, Code::invalid_argument);
  EXPECT_EQ(code->decode_row(0, {1, 2, 3, 4}).error().code, Code::invalid_argument);
  EXPECT_THAT(code->decode_row(0, {1, 2, 2}), Fails(Code::invalid_argument, {"row 2"}));
  EXPECT_THAT(code->decode_row(0, {1, 2, 5}), Fails(Code::invalid_argument, {"row 5"}));
  EXPECT_EQ(code->decode_row(5, {1, 2, 3}).error().code, Code::invalid_argument);
}

}  // namespace
}  // namespace cairn
