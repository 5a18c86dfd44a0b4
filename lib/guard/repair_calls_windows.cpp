#include "guard/repair_calls.hpp"

#include <utility>

#include "mpi/failure_handler.hpp"
#include "mpi/place_in.hpp"
#include "mpi/ulfm.hpp"
#include "tap/hear.hpp"

namespace cairn {

// Attached to a window, which may outlive the session and its lifeline.
struct RepairCalls::Meeting {
  std::shared_ptr<Lifeline> lifeline;
  MPI_Comm comm = MPI_COMM_NULL;
};

namespace {

// The one of this process: MPI tells a handler nothing but the window.
RepairCalls*& calls_here() {
  static constinit RepairCalls* one = nullptr;
  return one;
}

}  // namespace

// In MPI_Finalize, which ends the windows that are left, the communicator is gone already.
int RepairCalls::on_free(MPI_Win /*window*/, int /*key*/, void* value, void* /*extra*/) {
  const std::unique_ptr<Meeting> meeting(static_cast<Meeting*>(value));
  return MPI_SUCCESS;
}

// By which MPI finds what is attached to a window.
int RepairCalls::key() {
  static const int one = [] {
    int made = MPI_KEYVAL_INVALID;
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, &on_free, &made, nullptr);
    return made;
  }();
  return one;
}

RepairCalls::RepairCalls(Setting setting, std::shared_ptr<Lifeline> lifeline)
    : setting_(std::move(setting)), requests_(setting_.has_threads) {
  joins(std::move(lifeline));
  calls_here() = this;
}
RepairCalls::~RepairCalls() {
  calls_here() = nullptr;
  lifeline_->once_cut({});
}

RepairCalls::Meeting* RepairCalls::meeting_of(MPI_Win window) {
  const tap::Unheard own;
  void* value = nullptr;
  int is_there = 0;
  MPI_Win_get_attr(window, key(), static_cast<void*>(&value), &is_there);
  return is_there != 0 ? static_cast<Meeting*>(value) : nullptr;
}

int RepairCalls::made(MPI_Comm comm, MPI_Win window) {
  const tap::Unheard own;
  auto meeting = std::make_unique<Meeting>();
  meeting->lifeline = lifeline_;
  // A duplicate would have the attributes that the application has set.
  const int code = FailureHandler::quietly([&] { return MPI_Comm_split(comm, 0, rank_in(comm), &meeting->comm); });
  if (code != MPI_SUCCESS) return leaves_on_failure(code);
  MPI_Comm_set_errhandler(meeting->comm, MPI_ERRORS_RETURN);
  lifeline_->adopt(meeting->comm);
  MPI_Win_set_attr(window, key(), meeting.release());
  return MPI_SUCCESS;
}

int RepairCalls::meets(MPI_Win window) {
  const Meeting* const meeting = meeting_of(window);
  if (meeting == nullptr) return MPI_SUCCESS;
  const tap::Unheard own;
  return leaves_on_failure(MPI_Barrier(meeting->comm));
}

int RepairCalls::frees(MPI_Win window) {
  if (const int code = meets(window); code != MPI_SUCCESS) return code;
  if (Meeting* const meeting = meeting_of(window)) {
    const tap::Unheard own;
    MPI_Comm_free(&meeting->comm);
    MPI_Win_delete_attr(window, key());
  }
  return MPI_SUCCESS;
}

bool RepairCalls::is_lost(MPI_Win window) const {
  const Meeting* const meeting = meeting_of(window);
  return meeting != nullptr && meeting->lifeline->is_cut();
}

tap::ErrorJudge::Tells RepairCalls::judge_window(int code) {
  using Tells = tap::ErrorJudge::Tells;
  RepairCalls* const here = calls_here();
  if (here == nullptr || (!here->lifeline_->is_cut() && !ulfm::is_failure(code))) return Tells::anybody;
  (void)here->leaves_on_failure(code);
  return FailureHandler::tells_by_exceptions() ? Tells::nobody : Tells::own;
}

}  // namespace cairn
