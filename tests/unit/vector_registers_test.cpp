// Whoever calls the codecs finds the vector registers as the compiler expects them: with nothing in their upper halves.
// Otherwise the application computes several times slower after its first snapshot.
#include "codec/vector_registers.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include <gtest/gtest.h>

#include "codec/crc32c.hpp"
#include "codec/reed_solomon.hpp"

namespace cairn {
namespace {

#if defined(__x86_64__)

constexpr std::size_t kRegisters = 16;
constexpr std::size_t kWords = 4;  // of 8 bytes, in a register; the last two are its upper half

// Whether something is in the upper half of any register. Compiled code between a codec and this uses none.
bool something_is_in_an_upper_half() {
  if (!__builtin_cpu_supports("avx")) return false;
  std::array<std::uint64_t, kRegisters * kWords> words{};
  std::uint64_t* to = words.data();
  asm volatile(
      "vmovups %%ymm0, 0(%0)\n vmovups %%ymm1, 32(%0)\n vmovups %%ymm2, 64(%0)\n vmovups %%ymm3, 96(%0)\n"
      "vmovups %%ymm4, 128(%0)\n vmovups %%ymm5, 160(%0)\n vmovups %%ymm6, 192(%0)\n vmovups %%ymm7, 224(%0)\n"
      "vmovups %%ymm8, 256(%0)\n vmovups %%ymm9, 288(%0)\n vmovups %%ymm10, 320(%0)\n vmovups %%ymm11, 352(%0)\n"
      "vmovups %%ymm12, 384(%0)\n vmovups %%ymm13, 416(%0)\n vmovups %%ymm14, 448(%0)\n vmovups %%ymm15, 480(%0)\n"
      :
      : "r"(to)
      : "memory");
  for (std::size_t i = 0; i < kRegisters; ++i) {
    if (words[i * kWords + 2] != 0 || words[i * kWords + 3] != 0) return true;
  }
  return false;
}

#else

bool something_is_in_an_upper_half() { return false; }

#endif

class VectorRegisters : public testing::Test {
 protected:
  void SetUp() override {
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 31 + 7);
    clear_upper_halves();
    ASSERT_FALSE(something_is_in_an_upper_half());
  }
  Buffer bytes = Buffer(64 * kKiB);
};

TEST_F(VectorRegisters, are_clear_after_a_checksum) {
  const std::uint32_t crc = crc32c(bytes);
  const bool dirty = something_is_in_an_upper_half();
  EXPECT_FALSE(dirty);
  EXPECT_NE(crc, 0U);
}

TEST_F(VectorRegisters, are_clear_after_parity) {
  const auto code = ReedSolomon::create(2, 1);
  ASSERT_TRUE(code);
  const Combination row = code->encode_row(0);
  Buffer parity(bytes.size() / 2);
  const std::array<Bytes, 2> inputs{Bytes(bytes).first(parity.size()), Bytes(bytes).subspan(parity.size())};
  row.apply(inputs, parity);
  EXPECT_FALSE(something_is_in_an_upper_half());
}

}  // namespace
}  // namespace cairn
