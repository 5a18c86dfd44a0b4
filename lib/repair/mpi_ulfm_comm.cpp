#include "repair/mpi_ulfm_comm.hpp"

#include <climits>

#include "base/check.hpp"
#include "mpi/mpi_request.hpp"
#include "mpi/place_in.hpp"
#include "mpi/ulfm.hpp"
#include "repair/respawn.hpp"
#include "tap/hear.hpp"

namespace cairn {
namespace {

constexpr int kNoticeTag = 2;

Status outcome_of(int code, const char* call) {
  if (code == MPI_SUCCESS) return {};
  return fail(mpi_error(code, call));
}

}  // namespace

UlfmComm::Ptr MpiUlfmComm::take(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return nullptr;
  return Ptr(new MpiUlfmComm(comm));
}

MPI_Comm MpiUlfmComm::raw(const Ptr& comm) {
  if (!comm) return MPI_COMM_NULL;
  const auto* const over_mpi = dynamic_cast<const MpiUlfmComm*>(comm.get());
  check(over_mpi != nullptr);
  return over_mpi->comm_;
}

MpiUlfmComm::MpiUlfmComm(MPI_Comm comm)
    : comm_(comm), rank_(static_cast<std::uint32_t>(rank_in(comm))), size_(static_cast<std::uint32_t>(size_of(comm))) {
  const tap::Unheard own;
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
}

// Of this communicator, too: MPI takes in what has come from its members.
void MpiUlfmComm::let_news_come() {
  const tap::Unheard own;
  int found = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &found, MPI_STATUS_IGNORE);
}

void MpiUlfmComm::wait_for_news() { ulfm::wait_for_news(comm_); }

std::vector<std::uint32_t> MpiUlfmComm::failed_members() const {
  if (!ulfm::has_failed(comm_)) return {};
  return ulfm::failed_members(comm_);
}

bool MpiUlfmComm::is_revoked() const { return ulfm::is_revoked(comm_); }
void MpiUlfmComm::revoke() { ulfm::revoke(comm_); }

void MpiUlfmComm::notify(std::uint32_t member) {
  const tap::Unheard own;
  MPI_Request request = MPI_REQUEST_NULL;
  if (MPI_Isend(nullptr, 0, MPI_BYTE, static_cast<int>(member), kNoticeTag, comm_, &request) == MPI_SUCCESS)
    MPI_Request_free(&request);
}

bool MpiUlfmComm::receive_notice(std::uint32_t from) {
  const tap::Unheard own;
  const int source = static_cast<int>(from);
  int found = 0;
  if (MPI_Iprobe(source, kNoticeTag, comm_, &found, MPI_STATUS_IGNORE) != MPI_SUCCESS || found == 0) return false;
  MPI_Recv(nullptr, 0, MPI_BYTE, source, kNoticeTag, comm_, MPI_STATUS_IGNORE);
  return true;
}

Result<Agreed> MpiUlfmComm::agree(int word, const Meanwhile& meanwhile) {
  return meanwhile ? ulfm::agree(comm_, word, meanwhile) : ulfm::agree(comm_, word);
}

Result<UlfmComm::Ptr> MpiUlfmComm::shrink() { return ulfm::shrink(comm_).map(&MpiUlfmComm::take); }

Status MpiUlfmComm::gather(Bytes mine, MutableBytes all) {
  check(all.size() == mine.size() * size_ && mine.size() <= INT_MAX);
  const tap::Unheard own;
  const int size_bytes = static_cast<int>(mine.size());
  return outcome_of(MPI_Allgather(mine.data(), size_bytes, MPI_BYTE, all.data(), size_bytes, MPI_BYTE, comm_),
                    "MPI_Allgather");
}

Result<Buffer> MpiUlfmComm::broadcast(Bytes mine) {
  check(mine.size() <= INT_MAX);
  const tap::Unheard own;
  std::uint64_t size_bytes = mine.size();
  int code = MPI_Bcast(&size_bytes, 1, MPI_UINT64_T, 0, comm_);
  Buffer all(mine.begin(), mine.end());
  if (code == MPI_SUCCESS) {
    all.resize(size_bytes);
    code = MPI_Bcast(all.data(), static_cast<int>(size_bytes), MPI_BYTE, 0, comm_);
  }
  if (auto status = outcome_of(code, "MPI_Bcast"); !status) return fail(status.error());
  return all;
}

Result<UlfmComm::Ptr> MpiUlfmComm::split(bool in, std::uint32_t key) {
  const tap::Unheard own;
  MPI_Comm made = MPI_COMM_NULL;
  const int code = MPI_Comm_split(comm_, in ? 0 : MPI_UNDEFINED, static_cast<int>(key), &made);
  if (auto status = outcome_of(code, "MPI_Comm_split"); !status) return fail(status.error());
  return take(made);
}

Result<UlfmComm::Ptr> MpiUlfmComm::grow(const NewProcesses& what) {
  return respawn::grow(comm_, what).map(&MpiUlfmComm::take);
}

}  // namespace cairn
