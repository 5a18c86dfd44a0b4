// Attributes of communicators in Fortran. Open MPI and MPICH do these calls without MPI_Comm_set_attr and the like, so
// the tap intercepts Fortran's own names: those of mpif.h and the module mpi, and with _f08 those of the module
// mpi_f08. As on Linux all compilers make them. Handles and all other arguments are addresses; type(MPI_Comm) holds its
// handle.
//
// Like the calls of C, they concern the application's world where they name MPI_COMM_WORLD, and MPI's own world has the
// attributes that MPI defines. Weak: another tool's definitions come first.
#include <mpi.h>

#include "intercept/next.hpp"
#include "tap/world.hpp"

namespace cairn::tap {
namespace {

using Handle = MPI_Fint;

Handle meant(const Handle* comm) { return MPI_Comm_c2f(meant_by(MPI_Comm_f2c(*comm))); }

using Set = void (*)(Handle* comm, int* key, void* value, int* error);
void set(const char* name, const Handle* comm, int* key, void* value, int* error) {
  Handle world = meant(comm);
  next<Set>(name)(&world, key, value, error);
}

using Get = void (*)(Handle* comm, int* key, void* value, int* found, int* error);
void get(const char* name, const Handle* comm, int* key, void* value, int* found, int* error) {
  const auto get_from = [&](Handle holder) { next<Get>(name)(&holder, key, value, found, error); };
  get_from(meant(comm));
  if (*found != 0) return;
  const MPI_Comm other = other_holder(*key);
  if (other != MPI_COMM_NULL) get_from(MPI_Comm_c2f(other));
}

using Delete = void (*)(Handle* comm, int* key, int* error);
void remove(const char* name, const Handle* comm, int* key, int* error) {
  Handle world = meant(comm);
  next<Delete>(name)(&world, key, error);
}

}  // namespace
}  // namespace cairn::tap

extern "C" {

// NOLINTBEGIN(readability-identifier-naming): Fortran makes these names.
[[gnu::weak]] void mpi_comm_set_attr_(MPI_Fint* comm, int* key, void* value, int* error) {
  cairn::tap::set("mpi_comm_set_attr_", comm, key, value, error);
}
[[gnu::weak]] void mpi_comm_set_attr_f08_(MPI_Fint* comm, int* key, void* value, int* error) {
  cairn::tap::set("mpi_comm_set_attr_f08_", comm, key, value, error);
}
[[gnu::weak]] void mpi_attr_put_(MPI_Fint* comm, int* key, void* value, int* error) {
  cairn::tap::set("mpi_attr_put_", comm, key, value, error);
}
[[gnu::weak]] void mpi_comm_get_attr_(MPI_Fint* comm, int* key, void* value, int* found, int* error) {
  cairn::tap::get("mpi_comm_get_attr_", comm, key, value, found, error);
}
[[gnu::weak]] void mpi_comm_get_attr_f08_(MPI_Fint* comm, int* key, void* value, int* found, int* error) {
  cairn::tap::get("mpi_comm_get_attr_f08_", comm, key, value, found, error);
}
[[gnu::weak]] void mpi_attr_get_(MPI_Fint* comm, int* key, void* value, int* found, int* error) {
  cairn::tap::get("mpi_attr_get_", comm, key, value, found, error);
}
[[gnu::weak]] void mpi_comm_delete_attr_(MPI_Fint* comm, int* key, int* error) {
  cairn::tap::remove("mpi_comm_delete_attr_", comm, key, error);
}
[[gnu::weak]] void mpi_comm_delete_attr_f08_(MPI_Fint* comm, int* key, int* error) {
  cairn::tap::remove("mpi_comm_delete_attr_f08_", comm, key, error);
}
[[gnu::weak]] void mpi_attr_delete_(MPI_Fint* comm, int* key, int* error) {
  cairn::tap::remove("mpi_attr_delete_", comm, key, error);
}
// NOLINTEND(readability-identifier-naming)

}  // extern "C"
