#include "base/label.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/plain_text.hpp"

namespace cairn {
namespace {

bool is_control_byte(char c) {
  constexpr char kDelete = 0x7f;
  return static_cast<unsigned char>(c) < ' ' || c == kDelete;
}

}  // namespace

Status check_name(std::string_view what, std::string_view text) {
  if (text.empty()) return fail(Code::invalid_argument, fmt::format("{} is empty", what));
  if (text.size() > kMostNameBytes)
    return fail(Code::invalid_argument,
                fmt::format("{} has {} bytes, at most {} are possible", what, text.size(), kMostNameBytes));
  if (std::ranges::any_of(text, is_control_byte))
    return fail(Code::invalid_argument,
                fmt::format("{} \"{}\" has a control character", what, escaped_for_terminal(text)));
  return {};
}

Status check_label(std::string_view label) {
  if (auto good = check_name("the label", label); !good) return good;
  const bool is_number =
      std::ranges::all_of(label, [](char c) { return (c >= '0' && c <= '9') || c == '-' || c == '+'; });
  if (is_number || label == "newest" || label.ends_with(" again"))
    return fail(Code::invalid_argument,
                fmt::format("the label \"{}\" would be taken for a version", escaped_for_terminal(label)),
                "use another text, such as \"step 5\"");
  if (label.front() == ' ' || label.back() == ' ')
    return fail(Code::invalid_argument, fmt::format("the label \"{}\" begins or ends with a blank", label));
  return {};
}

}  // namespace cairn
