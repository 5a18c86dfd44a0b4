#include "mpi/window_meetings.hpp"

#include <utility>

#include "mpi/failure_handler.hpp"
#include "mpi/ulfm.hpp"
#include "tap/hear.hpp"

namespace cairn {

// Attached to a window, which may outlive the session and its lifeline.
struct WindowMeetings::Meeting {
  std::shared_ptr<Lifeline> lifeline;
  MPI_Comm comm = MPI_COMM_NULL;
};

namespace {

// The one of this process: MPI tells a handler nothing but the window.
WindowMeetings*& meetings_here() {
  static constinit WindowMeetings* one = nullptr;
  return one;
}

}  // namespace

// In MPI_Finalize, which ends the windows that are left, the communicator is gone already.
int WindowMeetings::on_free(MPI_Win /*window*/, int /*key*/, void* value, void* /*extra*/) {
  const std::unique_ptr<Meeting> meeting(static_cast<Meeting*>(value));
  return MPI_SUCCESS;
}

// By which MPI finds what is attached to a window.
int WindowMeetings::key() {
  static const int one = [] {
    int made = MPI_KEYVAL_INVALID;
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, &on_free, &made, nullptr);
    return made;
  }();
  return one;
}

WindowMeetings::WindowMeetings(std::shared_ptr<Lifeline> lifeline, std::function<void()> leaves)
    : lifeline_(std::move(lifeline)), leaves_(std::move(leaves)) {
  MPI_Win_create_errhandler(&WindowMeetings::on_error, &handler_);
  meetings_here() = this;
}
WindowMeetings::~WindowMeetings() {
  meetings_here() = nullptr;
  MPI_Errhandler_free(&handler_);
}

WindowMeetings::Meeting* WindowMeetings::meeting_of(MPI_Win window) {
  const tap::Unheard own;
  void* value = nullptr;
  int is_there = 0;
  MPI_Win_get_attr(window, key(), static_cast<void*>(&value), &is_there);
  return is_there != 0 ? static_cast<Meeting*>(value) : nullptr;
}

int WindowMeetings::made(MPI_Comm comm, MPI_Win window) {
  const tap::Unheard own;
  auto meeting = std::make_unique<Meeting>();
  meeting->lifeline = lifeline_;
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  // A duplicate would have the attributes that the application has set.
  const int code = FailureHandler::quietly([&] { return MPI_Comm_split(comm, 0, rank, &meeting->comm); });
  if (code != MPI_SUCCESS) return leaves_on_failure(code);
  MPI_Comm_set_errhandler(meeting->comm, MPI_ERRORS_RETURN);
  MPI_Win_set_errhandler(window, handler_);
  lifeline_->adopt(meeting->comm);
  MPI_Win_set_attr(window, key(), meeting.release());
  return MPI_SUCCESS;
}

int WindowMeetings::meets(MPI_Win window) {
  const Meeting* const meeting = meeting_of(window);
  if (meeting == nullptr) return MPI_SUCCESS;
  const tap::Unheard own;
  return leaves_on_failure(MPI_Barrier(meeting->comm));
}

int WindowMeetings::frees(MPI_Win window) {
  if (const int code = meets(window); code != MPI_SUCCESS) return code;
  if (Meeting* const meeting = meeting_of(window)) {
    const tap::Unheard own;
    MPI_Comm_free(&meeting->comm);
    MPI_Win_delete_attr(window, key());
  }
  return MPI_SUCCESS;
}

bool WindowMeetings::is_lost(MPI_Win window) const {
  const Meeting* const meeting = meeting_of(window);
  return meeting != nullptr && meeting->lifeline->is_cut();
}

int WindowMeetings::leaves_on_failure(int code) {
  if (code == MPI_SUCCESS || (!lifeline_->is_cut() && !ulfm::is_failure(code))) return code;
  lifeline_->cut();
  leaves_();
  return code;
}

void WindowMeetings::on_error(MPI_Win* window, int* code, ...) {
  if (WindowMeetings* const here = meetings_here(); here != nullptr) {
    (void)here->leaves_on_failure(*code);
    if (here->lifeline_->is_cut()) return;
  }
  // As it would be without Cairn.
  MPI_Win_set_errhandler(*window, MPI_ERRORS_ARE_FATAL);
  MPI_Win_call_errhandler(*window, *code);
}

}  // namespace cairn
