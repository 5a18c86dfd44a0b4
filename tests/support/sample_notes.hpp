// What a program may say about a snapshot, and which snapshots it keeps.
#pragma once

#include <cstdint>
#include <string>

#include "format/notes.hpp"
#include "format/pins.hpp"

namespace cairn::test {

inline SnapshotNotes sample_notes() {
  SnapshotNotes notes;
  notes.label = "peak of caf\xe9";
  notes.attributes = {{"", "cells", std::int64_t{4096}}, {"", "time", 0.5}, {"plate", "units", std::string("K")}};
  return notes;
}

inline Pins sample_pins() { return {{{3}, {42}, {0x0123456789abcdefULL}}, {{4}, {48}, {0xfedcba9876543210ULL}}}; }

}  // namespace cairn::test
