#include "fuzz/mutate.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include <nlohmann/json.hpp>

namespace cairn::fuzz {
namespace {

using Json = nlohmann::ordered_json;

std::uint64_t below(Random& random, std::uint64_t limit) { return random() % limit; }

void change(Buffer& bytes, Random& random) {
  const std::uint64_t at = below(random, bytes.size());
  const std::uint64_t count = std::min<std::uint64_t>(1 + below(random, 64), bytes.size() - at);
  const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(at);
  const auto to = from + static_cast<std::ptrdiff_t>(count);
  switch (below(random, 7)) {
    case 0: bytes[at] ^= static_cast<std::byte>(1U << below(random, 8)); break;
    case 1: bytes[at] = static_cast<std::byte>(random()); break;
    case 2: std::fill(from, to, std::byte{0}); break;
    case 3: std::fill(from, to, std::byte{0xff}); break;
    case 4: bytes.resize(at); break;
    case 5: bytes.erase(from, to); break;
    default: bytes.insert(from, count, static_cast<std::byte>(random())); break;
  }
}

void collect(Json& value, std::vector<Json*>& into) {
  into.push_back(&value);
  if (!value.is_structured()) return;
  for (Json& member : value) collect(member, into);
}

// Values at the borders of what parsers ask for.
Json odd_value(Random& random) {
  static const std::array kOdd = {Json(),
                                  Json(true),
                                  Json::array(),
                                  Json::object(),
                                  Json(0),
                                  Json(1),
                                  Json(2),
                                  Json(8),
                                  Json(9),
                                  Json(255),
                                  Json(-1),
                                  Json(-0.0),
                                  Json(0.5),
                                  Json(1e300),
                                  Json(4294967295U),
                                  Json(~0ULL),
                                  Json(4000000001U),
                                  Json(4294967296U),
                                  Json(16777216),
                                  Json(16777217),
                                  Json(1U << 31),
                                  Json(""),
                                  Json("0123456789abcdef")};
  return kOdd[below(random, kOdd.size())];
}

void change_number(Json& number, Random& random) {
  if (number.is_number_unsigned()) {
    number = number.get<std::uint64_t>() + below(random, 9) - 4;
  } else {
    number = number.get<double>() * static_cast<double>(below(random, 5));
  }
}

void change_text(Json& value, Random& random) {
  std::string text = value;
  if (text.empty()) text.push_back('0');
  text[below(random, text.size())] = "0f/zA.~ "[below(random, 8)];
  value = text;
}

void change(Json& root, Random& random) {
  std::vector<Json*> all;
  collect(root, all);
  Json& one = *all[below(random, all.size())];
  const Json other = *all[below(random, all.size())];
  switch (below(random, 5)) {
    case 0: one = odd_value(random); return;
    case 1: one = other; return;
    case 2:
      if (one.is_array()) one.push_back(one.empty() ? other : one[below(random, one.size())]);
      return;
    case 3:
      if (one.is_structured() && !one.empty())
        one.erase(std::next(one.begin(), static_cast<std::ptrdiff_t>(below(random, one.size()))));
      return;
    default: break;
  }
  if (one.is_number()) change_number(one, random);
  if (one.is_string()) change_text(one, random);
}

}  // namespace

Buffer mutate_bytes(Buffer input, Random& random) {
  for (std::uint64_t i = 0, changes = 1 + below(random, 4); i < changes && !input.empty(); ++i) change(input, random);
  return input;
}

Buffer mutate_json(Buffer input, Random& random) {
  Json json = Json::parse(text_of(input), nullptr, false);
  if (json.is_discarded() || below(random, 8) == 0) return mutate_bytes(std::move(input), random);
  for (std::uint64_t i = 0, changes = 1 + below(random, 3); i < changes; ++i) change(json, random);
  const std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  const Bytes bytes = bytes_of(text);
  return {bytes.begin(), bytes.end()};
}

}  // namespace cairn::fuzz
