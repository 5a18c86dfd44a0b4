// What the Fortran module needs beyond the C API: communicators as Fortran has them, and its own mistakes.
#include <string>

#include <cairn/cairn.h>

#include "bind/last_error.hpp"

extern "C" {

int cairn_init_fortran(MPI_Fint world, const char* config, cairn_session** session) {
  return cairn_init(MPI_Comm_f2c(world), config, session);
}

int cairn_comm_fortran(const cairn_session* session, MPI_Fint* comm) {
  MPI_Comm found = MPI_COMM_NULL;
  const int code = cairn_comm(session, &found);
  *comm = MPI_Comm_c2f(found);
  return code;
}

int cairn_watch_fortran(cairn_session* session, MPI_Fint comm) { return cairn_watch(session, MPI_Comm_f2c(comm)); }

// Its bytes lie apart, and the session keeps one address.
int cairn_refuse_section_fortran(const char* name) {
  return cairn::bind::fail(CAIRN_ERR_USAGE, "region \"" + std::string(name) +
                                                "\" is an array section whose elements lie apart (protect the whole "
                                                "array, or a contiguous part)");
}

}  // extern "C"
