// What a program says about its snapshots: labels and attributes.
//
//     session.attribute("time", t);          // in this snapshot and in later ones
//     session.attribute("grid", "cells", n);
//     if (is_peak) session.label("peak");    // of the next snapshot
//     session.snapshot();
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace cairn {

// A whole number, a number, or a text.
using AttributeValue = std::variant<std::int64_t, double, std::string>;

// A fact about a snapshot, or about one of its regions.
struct Attribute {
  std::string region;    // empty: it describes the whole snapshot
  std::string name;      // at most 255 bytes; not empty
  AttributeValue value;  // a text has at most 1024 bytes
};

// The label of a snapshot, where a function also takes the name of a region.
struct Label {
  std::string text;  // 1 to 255 bytes, without control characters
};

}  // namespace cairn
