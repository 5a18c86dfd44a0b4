// The port where MPI has no fault tolerance: a process that dies takes the job with it.
#include "mpi/ulfm.hpp"

namespace cairn::ulfm {

Status usable() {
  return fail(Code::config, "Cairn was built with an MPI without fault tolerance (ULFM, as in Open MPI 5)",
              "set [recovery] mode = restart and start the job with ckpt-run");
}

bool is_failure(int) { return false; }
void let_news_come() {}
bool has_failed(MPI_Comm) { return false; }
std::vector<std::uint32_t> failed_members(MPI_Comm) { return {}; }
bool is_revoked(MPI_Comm) { return false; }
void revoke(MPI_Comm) {}
void wait_for_news(MPI_Comm) {}
Result<MPI_Comm> shrink(MPI_Comm) { return fail(usable().error()); }
Result<Agreed> agree(MPI_Comm, int) { return fail(usable().error()); }
Result<Agreed> agree(MPI_Comm, int, const Meanwhile&) { return fail(usable().error()); }

}  // namespace cairn::ulfm
