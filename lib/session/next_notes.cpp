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

void NextNotes::use(Version version) {
  // The same snapshot again, after a rank has computed its step again.
  if (version == last_ && notes_.label.empty()) return;
  last_ = version;
  last_label_ = std::exchange(notes_.label, {});
  pin_ = false;
}

std::optional<Version> NextNotes::labeled() const { return last_label_.empty() ? std::nullopt : std::optional(last_); }

void NextNotes::take_label_back() {
  std::string label = std::exchange(last_label_, {});
  if (notes_.label.empty()) notes_.label = std::move(label);
}

void NextNotes::continue_from(const SnapshotNotes& restored) {
  SnapshotNotes all{{}, restored.attributes};
  for (Attribute& attribute : notes_.attributes) {
    // Where both together are too many, those of the snapshot stay.
    if (restored.find(attribute) == nullptr) (void)all.put(std::move(attribute));
  }
  notes_ = std::move(all);
  last_label_.clear();
  pin_ = false;
}

}  // namespace cairn
