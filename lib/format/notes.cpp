#include "format/notes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "base/fields.hpp"
#include "base/label.hpp"
#include "base/plain_text.hpp"
#include "base/sha256.hpp"

namespace cairn {
namespace {

auto key_of(const Attribute& attribute) { return std::tie(attribute.region, attribute.name); }

std::uint64_t word_of(Bytes bytes) {
  const Sha256 digest = sha256(bytes);
  // 0 is none.
  return std::max<std::uint64_t>(ByteReader(Bytes(digest.bytes)).get<std::uint64_t>(), 1);
}

}  // namespace

const Attribute* SnapshotNotes::find(const Attribute& like) const {
  const auto place = std::ranges::lower_bound(attributes, key_of(like), {}, key_of);
  return place != attributes.end() && key_of(*place) == key_of(like) ? &*place : nullptr;
}

Status SnapshotNotes::put(Attribute attribute) {
  if (auto* number = std::get_if<double>(&attribute.value); number != nullptr && std::isnan(*number))
    *number = std::numeric_limits<double>::quiet_NaN();  // there are many, and one is stored
  const auto place = std::ranges::lower_bound(attributes, key_of(attribute), {}, key_of);
  if (place != attributes.end() && key_of(*place) == key_of(attribute)) {
    place->value = std::move(attribute.value);
    return {};
  }
  if (attributes.size() == kMostAttributes)
    return fail(Code::invalid_argument,
                fmt::format("attribute \"{}\": a snapshot has at most {}", attribute.name, kMostAttributes),
                "protect what is larger as a region");
  attributes.insert(place, std::move(attribute));
  return {};
}

void SnapshotNotes::fill_from(const SnapshotNotes& other) {
  if (label.empty()) label = other.label;
  if (attributes.empty()) attributes = other.attributes;
}

bool operator==(const SnapshotNotes& one, const SnapshotNotes& other) { return encode(one) == encode(other); }

Status check_attribute(const Attribute& attribute) {
  if (auto good = check_name("the name of an attribute", attribute.name); !good) return good;
  if (!attribute.region.empty()) {
    if (auto good = check_name("the name of a region", attribute.region); !good) return good;
  }
  const auto* text = std::get_if<std::string>(&attribute.value);
  if (text == nullptr) return {};
  if (text->size() > kMostTextBytes)
    return fail(Code::invalid_argument,
                fmt::format("attribute \"{}\" has a text of {} bytes, at most {} are possible",
                            escaped_for_terminal(attribute.name), text->size(), kMostTextBytes),
                "protect what is larger as a region");
  if (text->find('\0') != std::string::npos)
    return fail(Code::invalid_argument,
                fmt::format("attribute \"{}\": the text has a zero byte", escaped_for_terminal(attribute.name)));
  return {};
}

std::uint64_t digest_of_label(const SnapshotNotes& notes) {
  return notes.label.empty() ? 0 : word_of(bytes_of(notes.label));
}

std::uint64_t digest_of_attributes(const SnapshotNotes& notes) {
  return notes.attributes.empty() ? 0 : word_of(encode(SnapshotNotes{{}, notes.attributes}));
}

std::string text_of(const Attribute& attribute) {
  const std::string region = attribute.region.empty() ? "" : escaped_for_terminal(attribute.region) + ": ";
  const auto value = std::visit(
      [](const auto& one) {
        if constexpr (std::is_same_v<std::decay_t<decltype(one)>, std::string>)
          return escaped_for_terminal(one);
        else
          return fmt::format("{}", one);
      },
      attribute.value);
  return fmt::format("{}{} = {}", region, escaped_for_terminal(attribute.name), value);
}

Buffer encode(const SnapshotNotes& notes) {
  PutFields put;
  SnapshotNotes copy = notes;  // fields are described once, for reading and writing
  put(copy);
  return put.take();
}

Result<SnapshotNotes> decode_notes(Bytes bytes) {
  GetFields get(bytes);
  SnapshotNotes notes;
  get(notes);
  if (!get.whole()) return fail_internal(Code::communication, "notes of a snapshot are damaged");
  return notes;
}

}  // namespace cairn
