#include "tap/world.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>

#include "tap/hear.hpp"

namespace cairn::tap {
namespace {

// No handle of MPI is MPI_Comm{}.
struct Worlds {
  std::atomic<MPI_Comm> application = MPI_Comm{};
  std::atomic<MPI_Comm> all = MPI_Comm{};
  std::atomic<bool> repairs = false;
};

Worlds& worlds() {
  static constinit Worlds one;
  return one;
}

}  // namespace

MPI_Comm application_world() {
  const MPI_Comm comm = worlds().application.load(std::memory_order_acquire);
  return comm == MPI_Comm{} ? MPI_COMM_WORLD : comm;
}

bool is_world_replaced() { return worlds().application.load(std::memory_order_acquire) != MPI_Comm{}; }

MPI_Comm all_processes() { return is_world_replaced() ? worlds().all.load() : MPI_COMM_WORLD; }

int replace_world(MPI_Comm all, bool computes, bool repairs) {
  const Unheard own;
  MPI_Comm part = MPI_COMM_NULL;
  // Made from MPI_COMM_WORLD, whose error handler it gets.
  const int code = MPI_Comm_split(MPI_COMM_WORLD, computes ? 0 : 1, 0, &part);
  if (code != MPI_SUCCESS) return code;
  MPI_Comm_set_name(part, "MPI_COMM_WORLD");
  if (repairs) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  worlds().repairs = repairs;
  worlds().all = all;
  worlds().application.store(part, std::memory_order_release);
  return MPI_SUCCESS;
}

void restore_world() {
  if (!is_world_replaced()) return;
  const Unheard own;
  MPI_Comm part = application_world();
  MPI_Comm_free(&part);
  worlds().application.store(MPI_Comm{}, std::memory_order_release);
}

void follow_world(MPI_Comm part) {
  const Unheard own;
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  MPI_Comm_get_name(application_world(), name, &length);
  MPI_Comm_set_name(part, name);
  worlds().application.store(part, std::memory_order_release);
}

void replace_world_of_newcomer(MPI_Comm all) {
  const Unheard own;
  MPI_Comm_set_name(all, "MPI_COMM_WORLD");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  worlds().repairs = true;
  worlds().all = all;
  worlds().application.store(all, std::memory_order_release);
}

MPI_Comm other_holder(int key) {
  constexpr int kOfMpi[] = {MPI_TAG_UB,        MPI_HOST,   MPI_IO,          MPI_WTIME_IS_GLOBAL,
                            MPI_UNIVERSE_SIZE, MPI_APPNUM, MPI_LASTUSEDCODE};
  const bool is_of_mpi = std::find(std::begin(kOfMpi), std::end(kOfMpi), key) != std::end(kOfMpi);
  return is_of_mpi && is_world_replaced() ? MPI_COMM_WORLD : MPI_COMM_NULL;
}

MPI_Comm handler_twin(MPI_Comm comm) {
  const bool has_one = is_world_replaced() && !worlds().repairs && comm == application_world();
  return has_one ? MPI_COMM_WORLD : MPI_COMM_NULL;
}

}  // namespace cairn::tap
