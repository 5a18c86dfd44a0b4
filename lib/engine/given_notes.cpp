#include "engine/given_notes.hpp"

#include <fmt/format.h>

#include "base/plain_text.hpp"

namespace cairn {
namespace {

std::string in_quotes(const std::string& label) { return fmt::format("\"{}\"", escaped_for_terminal(label)); }

// The first that differs.
std::string difference_of(const SnapshotNotes& one, const SnapshotNotes& other) {
  for (const auto* notes : {&one, &other}) {
    const SnapshotNotes& others = notes == &one ? other : one;
    for (const Attribute& attribute : notes->attributes) {
      const Attribute* const same = others.find(attribute);
      if (same == nullptr) return fmt::format("only some have {}", text_of(attribute));
      if (digest_of_attributes({{}, {attribute}}) != digest_of_attributes({{}, {*same}}))
        return fmt::format("{} and {}", text_of(attribute), text_of(*same));
    }
  }
  return "their order";
}

}  // namespace

std::optional<Error> GivenNotes::add(const SnapshotNotes& notes) {
  std::optional<Error> error;
  const std::uint64_t label = digest_of_label(notes);
  const std::uint64_t attributes = digest_of_attributes(notes);
  if (label != 0 && !notes_.label.empty() && label != digest_of_label(notes_)) {
    error = different_labels();
    error->message += fmt::format(": {} and {}", in_quotes(notes_.label), in_quotes(notes.label));
  } else if (attributes != 0 && !notes_.attributes.empty() && attributes != digest_of_attributes(notes_)) {
    error = different_attributes();
    error->message += ": " + difference_of(notes_, notes);
  }
  labels_.insert(label);
  attributes_.insert(attributes);
  notes_.fill_from(notes);
  return error;
}

void GivenNotes::put_into(Vote& vote) const {
  for (const std::uint64_t digest : labels_) vote.note_label(digest);
  for (const std::uint64_t digest : attributes_) vote.note_attributes(digest);
}

}  // namespace cairn
