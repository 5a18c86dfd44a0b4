#include "mpi/mpi_library.hpp"

#include <mpi.h>

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#define CAIRN_TEXT_OF(number) #number
#define CAIRN_TEXT(number) CAIRN_TEXT_OF(number)

namespace cairn {
namespace {

#ifdef OMPI_MAJOR_VERSION
constexpr bool kOpenMpi = true;
constexpr const char* kMpi =
    "Open MPI " CAIRN_TEXT(OMPI_MAJOR_VERSION) "." CAIRN_TEXT(OMPI_MINOR_VERSION) "." CAIRN_TEXT(OMPI_RELEASE_VERSION);
#else
constexpr bool kOpenMpi = false;
constexpr const char* kMpi = "MPICH " MPICH_VERSION;
#endif

// "Open MPI v4.1.4, package: …" or "MPICH Version: 4.0.2\n…"
std::string library_name() {
  // That of another MPI may be longer than MPI_MAX_LIBRARY_VERSION_STRING of this one; MPICH's is the longest.
  char text[std::max(8192, MPI_MAX_LIBRARY_VERSION_STRING)] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string_view all(text, static_cast<std::size_t>(length));
  std::string name(all.substr(0, all.find_first_of(",\n")));
  std::ranges::replace(name, '\t', ' ');
  return name;
}

}  // namespace

const char* mpi_built_with() { return kMpi; }

Status check_mpi_library() {
  const std::string running = library_name();
  if (running.starts_with("Open MPI") == kOpenMpi) return {};
  return fail(Code::mismatch, fmt::format("this program runs with {}, and libcairn was built with {}", running, kMpi),
              "compile the program with that MPI, or build Cairn with this one");
}

}  // namespace cairn
