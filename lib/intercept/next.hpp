// Cairn's definitions of MPI calls, which are a library of their own: libcairn-tap. A program names it before MPI, so
// that these come first. They are made from calls.txt, MPI_X and PMPI_X for each call X, since Fortran's calls come as
// PMPI_X (Open MPI), and so do those of other tools. Each does what acts.hpp says around the next definition of its own
// name: another tool's, or MPI's. Nothing is remembered here.
#pragma once

namespace cairn::tap {

// The definition of this name after this library's own. There is one wherever the application was linked with a shared
// MPI; ends the process with a text where there is none.
[[nodiscard]] void* next_of(const char* name);
template <class Function>
[[nodiscard]] Function next(const char* name) {
  return reinterpret_cast<Function>(next_of(name));
}

}  // namespace cairn::tap
