// What the program says about the snapshots of this rank. Attributes stay, as regions do. A label is for one snapshot.
// Local.
#pragma once

#include <string>
#include <utility>

#include "base/error.hpp"
#include "format/notes.hpp"

namespace cairn {

class NextNotes {
 public:
  // Of the next snapshot that is taken.
  [[nodiscard]] Status set_label(const std::string& label);
  // Of it and of later ones.
  [[nodiscard]] Status set(Attribute attribute);

  // What the next snapshot is to have.
  [[nodiscard]] const SnapshotNotes& notes() const { return notes_; }
  // A snapshot has used the label.
  void use_label() { notes_.label.clear(); }
  // The job continues from a snapshot that had these: it is as if they had been set before that snapshot. What the
  // program has set since then in addition stays.
  void continue_from(const SnapshotNotes& restored);

 private:
  SnapshotNotes notes_;
};

}  // namespace cairn
