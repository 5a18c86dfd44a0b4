#include "codec/reed_solomon.hpp"

#include <algorithm>
#include <string>

#include <isa-l/erasure_code.h>

#include "base/error.hpp"
#include "codec/longest_call.hpp"
#include "codec/vector_registers.hpp"

namespace cairn {
namespace {

constexpr std::size_t kTableBytes = 32;  // ISA-L's expansion of one coefficient

// ISA-L takes pointers to non-const and does not write through them.
unsigned char* raw(const std::byte* bytes) { return reinterpret_cast<unsigned char*>(const_cast<std::byte*>(bytes)); }

std::vector<unsigned char> tables_of(std::vector<unsigned char> coefficients) {
  std::vector<unsigned char> tables(coefficients.size() * kTableBytes);
  ec_init_tables(static_cast<int>(coefficients.size()), 1, coefficients.data(), tables.data());
  return tables;
}

}  // namespace

void Combination::apply(std::span<const Bytes> inputs, MutableBytes out) const {
  std::vector<unsigned char*> from(inputs.size());
  for (std::size_t at = 0; at < out.size();) {
    const std::size_t count = std::min(out.size() - at, kLongestCall);
    std::ranges::transform(inputs, from.begin(), [at](Bytes input) { return raw(input.data() + at); });
    unsigned char* to = raw(out.data() + at);
    ec_encode_data(static_cast<int>(count), static_cast<int>(inputs_), 1, const_cast<unsigned char*>(tables_.data()),
                   from.data(), &to);
    at += count;
  }
  clear_upper_halves();
}

Result<ReedSolomon> ReedSolomon::create(std::uint32_t data, std::uint32_t parity) {
  if (data < 1 || data > 255 || parity > 255 - data) {
    return fail(Code::invalid_argument,
                "an erasure code of " + std::to_string(data) + " data and " + std::to_string(parity) +
                    " parity rows is impossible",
                "at least 1 data row and at most 255 rows in all");
  }
  ReedSolomon code;
  code.data_ = data;
  code.parity_ = parity;
  code.matrix_.resize(std::size_t{data + parity} * data);
  gf_gen_cauchy1_matrix(code.matrix_.data(), static_cast<int>(data + parity), static_cast<int>(data));
  return code;
}

Combination ReedSolomon::encode_row(std::uint32_t p) const {
  const auto row = matrix_.begin() + static_cast<std::ptrdiff_t>(std::size_t{data_ + p} * data_);
  Combination combination;
  combination.inputs_ = data_;
  combination.tables_ = tables_of({row, row + data_});
  return combination;
}

Result<Combination> ReedSolomon::decode_row(std::uint32_t wanted, const std::vector<std::uint32_t>& have) const {
  const std::uint32_t rows = data_ + parity_;
  if (wanted >= rows) {
    return fail_internal(
        Code::invalid_argument,
        "row " + std::to_string(wanted) + " is requested, but the erasure code has " + std::to_string(rows) + " rows");
  }
  std::vector<bool> seen(rows);
  for (const std::uint32_t row : have) {
    if (row >= rows || seen[row]) {
      return fail(Code::invalid_argument, "cannot decode from row " + std::to_string(row),
                  "rows must be distinct and below " + std::to_string(rows));
    }
    seen[row] = true;
  }
  if (have.size() != data_) {
    return fail(Code::invalid_argument, "cannot decode from " + std::to_string(have.size()) + " rows",
                "exactly " + std::to_string(data_) + " rows are needed");
  }

  std::vector<unsigned char> known;
  for (const std::uint32_t row : have) {
    const auto from = matrix_.begin() + static_cast<std::ptrdiff_t>(std::size_t{row} * data_);
    known.insert(known.end(), from, from + data_);
  }
  std::vector<unsigned char> inverse(known.size());
  if (gf_invert_matrix(known.data(), inverse.data(), static_cast<int>(data_)) != 0) {
    return fail_internal(Code::unrecoverable, "the erasure code's matrix has no inverse for the rows that are left");
  }
  // Row `wanted` of the generator, in terms of the rows at hand.
  std::vector<unsigned char> coefficients(data_);
  for (std::uint32_t column = 0; column < data_; ++column) {
    for (std::uint32_t i = 0; i < data_; ++i) {
      coefficients[column] ^=
          gf_mul(matrix_[std::size_t{wanted} * data_ + i], inverse[std::size_t{i} * data_ + column]);
    }
  }
  Combination combination;
  combination.inputs_ = data_;
  combination.tables_ = tables_of(std::move(coefficients));
  return combination;
}

}  // namespace cairn
