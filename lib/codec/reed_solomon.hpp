// Reed–Solomon over GF(2^8) with a Cauchy matrix, by ISA-L: k data rows, m parity rows, any k of the k + m
// rows give back the rest. (ISA-L's Vandermonde matrix is not invertible for every loss.) Rows 0 … k−1 are
// data, k … k+m−1 parity. Pure; const calls from several threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace cairn {

// A linear combination of k equally long inputs: one row of an encoding or decoding matrix, made ready.
class Combination {
 public:
  // out = Σ coefficient_i · inputs_i; all of the same length.
  void apply(std::span<const Bytes> inputs, MutableBytes out) const;

 private:
  friend class ReedSolomon;
  std::size_t inputs_ = 0;
  std::vector<unsigned char> tables_;
};

class ReedSolomon {
 public:
  // 1 ≤ data, 0 ≤ parity, data + parity ≤ 255.
  static Result<ReedSolomon> create(std::uint32_t data, std::uint32_t parity);

  // Parity row p (0-based) from all data rows in order.
  [[nodiscard]] Combination encode_row(std::uint32_t p) const;
  // Row `wanted` (data or parity) from the `data` distinct rows `have`, in that order.
  [[nodiscard]] Result<Combination> decode_row(std::uint32_t wanted, const std::vector<std::uint32_t>& have) const;

 private:
  std::uint32_t data_ = 0;
  std::uint32_t parity_ = 0;
  std::vector<unsigned char> matrix_;
};

}  // namespace cairn
