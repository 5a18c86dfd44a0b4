// The version of Cairn: CAIRN_VERSION and its parts are that of the headers, version() is that of the library which the
// program is linked with. build_info() says more about that library, for a bug report.
#pragma once

#include <cairn/version.h>

namespace cairn {

// One number: CAIRN_VERSION as the library was compiled with it. Local.
[[nodiscard]] int version();

// One line: version and commit, the MPI and the HDF5 that the library was built with, compiler and options. The
// library's; valid as long as the program runs. Local; also before MPI_Init.
[[nodiscard]] const char* build_info();

}  // namespace cairn
