// What the program says about the snapshots of this rank. Attributes stay, as regions do. A label is for one snapshot.
// Local.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "format/notes.hpp"

namespace cairn {

class NextNotes {
 public:
  // Of the next snapshot that is taken.
  [[nodiscard]] Status set_label(const std::string& label);
  // Of it and of later ones.
  [[nodiscard]] Status set(Attribute attribute);

  // The next snapshot that is taken stays in the global store.
  void pin() { pin_ = true; }
  [[nodiscard]] bool pins() const { return pin_; }

  // What the next snapshot is to have.
  [[nodiscard]] const SnapshotNotes& notes() const { return notes_; }
  // A snapshot has used the label and the pin.
  void use(Version version);
  // The snapshot that used a label, if it did and no other has been taken since.
  [[nodiscard]] std::optional<Version> labeled() const;
  // That snapshot has failed: the next one gets the label, if the program has set no other. Not the pin: all ranks must
  // take the next snapshot to the same levels, and they learn of a failure at different times.
  void take_label_back();
  // The job continues from a snapshot that had these: it is as if they had been set before that snapshot. What the
  // program has set since then in addition stays.
  void continue_from(const SnapshotNotes& restored);

 private:
  SnapshotNotes notes_;
  bool pin_ = false;
  Version last_;            // that has used notes
  std::string last_label_;  // of it
};

}  // namespace cairn
