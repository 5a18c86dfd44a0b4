// The header of numpy's file format for one array, version 1.0:
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html. The array's bytes follow it. Pure.
#pragma once

#include <string>

#include "format/region.hpp"

namespace ckpt_tool {

// Its length is a multiple of 64 bytes. Elements of the program's own types are `V24`: numpy's view() gives them
// fields.
[[nodiscard]] std::string npy_header(const cairn::RegionInfo& array);

}  // namespace ckpt_tool
