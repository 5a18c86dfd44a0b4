#include "session/next_notes.hpp"

#include "base/label.hpp"

namespace cairn {

Status NextNotes::set_label(const std::string& label) {
  if (auto good = check_label(label); !good) return fail(good.error().in("label"));
  notes_.label = label;
  return {};
}

Status NextNotes::set(Attribute attribute) {
  if (auto good = check_attribute(attribute); !good) return fail(good.error().in("attribute"));
  return notes_.put(std::move(attribute));
}

void NextNotes::continue_from(const SnapshotNotes& restored) {
  SnapshotNotes all{{}, restored.attributes};
  for (Attribute& attribute : notes_.attributes) {
    // Where both together are too many, those of the snapshot stay.
    if (restored.find(attribute) == nullptr) (void)all.put(std::move(attribute));
  }
  notes_ = std::move(all);
  pin_ = false;
}

}  // namespace cairn
