// What the Fortran module needs beyond the C API: Fortran communicators, and errors that only Fortran programs can
// make.
#include <string>

#include <cairn/cairn.h>

#include "bind/cairn_run.hpp"
#include "bind/last_error.hpp"

extern "C" {

int cairn_init_fortran(MPI_Fint world, const char* config, cairn_session** session) {
  return cairn_init(MPI_Comm_f2c(world), config, session);
}

int cairn_run_fortran(MPI_Fint world, const char* config, cairn::bind::Code application, cairn_application call,
                      void* argument) {
  return cairn::bind::run_in(MPI_Comm_f2c(world), config,
                             {.function = call, .argument = argument, .code = application, .compute = {}});
}

int cairn_comm_fortran(const cairn_session* session, MPI_Fint* comm) {
  MPI_Comm found = MPI_COMM_NULL;
  const int code = cairn_comm(session, &found);
  *comm = MPI_Comm_c2f(found);
  return code;
}

int cairn_watch_fortran(cairn_session* session, MPI_Fint comm) { return cairn_watch(session, MPI_Comm_f2c(comm)); }

int cairn_refuse_part_fortran(const char* name) {
  return cairn::bind::refuse(CAIRN_ERR_USAGE, "region \"" + std::string(name) +
                                                  "\": global_shape, offset and ghosts need as many numbers as the "
                                                  "array has dimensions (give global_shape and offset, or none)");
}

// The bytes of such a section are not contiguous, and the session keeps one address.
int cairn_refuse_section_fortran(const char* name) {
  return cairn::bind::refuse(CAIRN_ERR_USAGE, "region \"" + std::string(name) +
                                                  "\" is an array section that is not contiguous (protect the whole "
                                                  "array, or a contiguous part)");
}

}  // extern "C"
