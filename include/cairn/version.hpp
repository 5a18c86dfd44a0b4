// The version of Cairn. CAIRN_VERSION in <cairn/version.h> is the version of the headers. version() returns that of the
// library that the program runs with.
#pragma once

#include <cairn/version.h>

namespace cairn {

// Returns the version of the library as one number, like CAIRN_VERSION: 10203 is 1.2.3. Local.
[[nodiscard]] int version();

// Returns one line for a bug report: version and commit, the MPI and HDF5 that the library was built with, compiler and
// options. The library owns the text, which stays valid until the program ends. Local. May be called before MPI_Init.
[[nodiscard]] const char* build_info();

}  // namespace cairn
