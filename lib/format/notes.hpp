// Notes: what the program says about a snapshot, its label and its attributes. They are in manifests, and in the HDF5
// files of L4. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <cairn/attribute.hpp>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace cairn {

// A manifest of a node stays small, whatever the program says.
inline constexpr std::size_t kMostTextBytes = 1024;  // of a text
inline constexpr std::size_t kMostAttributes = 64;

struct SnapshotNotes {
  std::string label;                  // empty: none
  std::vector<Attribute> attributes;  // by region and name, none twice

  [[nodiscard]] bool empty() const { return label.empty() && attributes.empty(); }
  // The one of the same region and name; null: there is none. Valid until the attributes change.
  [[nodiscard]] const Attribute* find(const Attribute& like) const;
  // Adds the attribute, or replaces the one of the same region and name. Code::invalid_argument: there are too many.
  [[nodiscard]] Status put(Attribute attribute);
  // Takes the label, and all attributes, of other notes where it has none itself.
  void fill_from(const SnapshotNotes& other);
  // Of equal bits: a number that is none equals itself.
  friend bool operator==(const SnapshotNotes& one, const SnapshotNotes& other);
};

// Whether a program may use it.
[[nodiscard]] Status check_attribute(const Attribute& attribute);

// One word for each, which differs where they differ; 0: there is none.
[[nodiscard]] std::uint64_t digest_of_label(const SnapshotNotes& notes);
[[nodiscard]] std::uint64_t digest_of_attributes(const SnapshotNotes& notes);

// "time = 1.5", "plate: units = K"
[[nodiscard]] std::string text_of(const Attribute& attribute);

// Inverse pair: the bytes of a message.
[[nodiscard]] Buffer encode(const SnapshotNotes& notes);
[[nodiscard]] Result<SnapshotNotes> decode_notes(Bytes bytes);

// For messages that have notes among other things (base/fields).
void fields(auto& io, Attribute& m) { io(m.region), io(m.name), io(m.value); }
void fields(auto& io, SnapshotNotes& m) { io(m.label), io(m.attributes); }

}  // namespace cairn
