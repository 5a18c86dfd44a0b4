#include "npy.hpp"

#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ckpt_tool {
namespace {

std::string type_text(const cairn::RegionInfo& array) {
  using cairn::ElementType;
  switch (array.type) {
    case ElementType::int8: return "|i1";
    case ElementType::int16: return "<i2";
    case ElementType::int32: return "<i4";
    case ElementType::int64: return "<i8";
    case ElementType::uint8: return "|u1";
    case ElementType::uint16: return "<u2";
    case ElementType::uint32: return "<u4";
    case ElementType::uint64: return "<u8";
    case ElementType::float32: return "<f4";
    case ElementType::float64: return "<f8";
    case ElementType::opaque: break;
  }
  return fmt::format("|V{}", array.element_bytes);
}

// "(3,)", "(3, 4)": a tuple in Python.
std::string shape_text(const std::vector<std::uint64_t>& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

}  // namespace

std::string npy_header(const cairn::RegionInfo& array) {
  constexpr std::string_view kMagic("\x93NUMPY\x01\x00", 8);
  constexpr std::size_t kLengthBytes = 2;
  constexpr std::size_t kAlignment = 64;
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", type_text(array),
                                 shape_text(array.shape));
  const std::size_t before = kMagic.size() + kLengthBytes;
  text.append((kAlignment - (before + text.size() + 1) % kAlignment) % kAlignment, ' ');
  text += '\n';
  std::string header(kMagic);
  header += static_cast<char>(text.size() & 0xffU);
  header += static_cast<char>(text.size() >> 8U);
  return header + text;
}

}  // namespace ckpt_tool
