// Changes to an input of the kinds that disks, networks and people make. The same seed makes the same change. Pure.
#pragma once

#include <random>

#include "base/bytes.hpp"

namespace cairn::fuzz {

using Random = std::mt19937_64;
using Mutate = Buffer (*)(Buffer input, Random& random);

// One to four flips, stretches overwritten, cut out or put in.
[[nodiscard]] Buffer mutate_bytes(Buffer input, Random& random);
// A change to the tree of a JSON text, which stays JSON: a value replaced, removed, doubled, or taken from another
// place in it. Text that is no JSON is changed as bytes.
[[nodiscard]] Buffer mutate_json(Buffer input, Random& random);

}  // namespace cairn::fuzz
