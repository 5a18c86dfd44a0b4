#include "carrier/request_calls.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "carrier/kept_type.hpp"
#include "carrier/patience.hpp"
#include "mpi/failure_handler.hpp"

namespace cairn {

using tap::Completed;
using tap::Which;

int RequestCalls::hand_out(const PendingMessage& pending, MPI_Comm comm, MPI_Request* request) {
  *request = requests_.add(pending);
  if (*request == MPI_REQUEST_NULL) return job_.raise(MPI_ERR_NO_MEM, comm);
  if (pending.is_open) open_.add(*requests_.find(*request));
  return MPI_SUCCESS;
}

int RequestCalls::begin_send(const tap::OutgoingMessage& m, MPI_Request* request) {
  PendingMessage pending;
  const int code = sends_.begin(m, pending);
  return code == MPI_SUCCESS ? hand_out(pending, m.comm, request) : code;
}

int RequestCalls::begin_receive(const tap::IncomingMessage& m, MPI_Request* request) {
  PendingMessage pending;
  tap::IncomingMessage kept = m;
  // Only one thread may ask the log.
  if (!job_.is_session_thread() || !log_.is_dense(m.type)) {
    pending.type = std::make_shared<const KeptType>(m.type);
    kept.type = pending.type->get();
  }
  const int code = receives_.begin(kept, pending);
  return code == MPI_SUCCESS ? hand_out(pending, m.comm, request) : code;
}

PendingMessage& RequestCalls::mine(MPI_Request request) const {
  PendingMessage* const pending = requests_.find(request);
  check(pending != nullptr);
  return *pending;
}

// Of MPI's own requests, too.
RequestCalls::State RequestCalls::state_of(MPI_Request request) {
  if (request == MPI_REQUEST_NULL) return State::null;
  if (PendingMessage* const pending = requests_.find(request)) {
    if (!pending->is_active) return State::null;
    if (!receives_.test(*pending)) return State::lost;
    return pending->done ? State::done : State::pending;
  }
  int over = 0;
  MPI_Request_get_status(request, &over, MPI_STATUS_IGNORE);
  return over != 0 ? State::done : State::pending;
}

// Takes a request that is done away from the application; a persistent one stays, and is not active any more.
int RequestCalls::finish(MPI_Request& request, MPI_Status& status) {
  PendingMessage* const pending = requests_.find(request);
  if (pending == nullptr) return MPI_Wait(&request, &status);
  const int code = pending->code;
  status = pending->status;
  requests_.end(request);
  return code;
}

// Takes away the requests that are complete, as far as the call does. Returns its code.
int RequestCalls::take_done(Completion& completion, std::span<MPI_Request> requests, std::span<const State> states) {
  const auto is = [&](State state) { return std::ranges::find(states, state) != states.end(); };
  const bool takes = !completion.is_for_all() || !is(State::pending);
  for (std::size_t i = 0; takes && i < requests.size() && !completion.is_enough(); ++i) {
    if (states[i] != State::done && !completion.is_for_all()) continue;
    MPI_Status status{};
    const int code = finish(requests[i], status);
    completion.found(i, code, status);
  }
  return completion.end(is(State::pending) || is(State::done));
}

// The error handler of that communicator gets the error, as in MPI.
MPI_Comm RequestCalls::comm_of_error(std::span<const MPI_Request> requests) {
  for (const MPI_Request request : requests) {
    const PendingMessage* const pending = requests_.find(request);
    if (pending == nullptr || pending->code == MPI_SUCCESS || pending->channel == nullptr) continue;
    if (pending->channel->handle != MPI_COMM_NULL) return pending->channel->handle;
  }
  return job_.setting().comm;
}

int RequestCalls::complete(Which which, std::span<MPI_Request> requests, const Completed& completed) {
  (void)job_.note_caller();
  Completion completion(which, requests.size(), completed);
  Patience patience(job_, [&] { return needs_of(completion, requests); });
  std::vector<State> states(requests.size());
  while (true) {
    const bool goes_on = receives_.advance_open();
    std::ranges::transform(requests, states.begin(), [&](MPI_Request request) { return state_of(request); });
    if (!goes_on || std::ranges::find(states, State::lost) != states.end() || !patience.looks()) {
      if (!job_.stays()) return MPI_ERR_OTHER;
      continue;
    }
    const auto complete = static_cast<std::size_t>(std::ranges::count(states, State::done));
    const auto idle = static_cast<std::size_t>(std::ranges::count(states, State::null));
    if (completion.tests() || completion.is_over(requests.size() - idle, complete)) {
      const MPI_Comm comm = comm_of_error(requests);
      const int code = take_done(completion, requests, states);
      return code == MPI_SUCCESS ? code : job_.raise(code, comm);
    }
    if (job_.is_patient() || !block_in_mpi(completion, requests)) (void)patience.turn();
  }
}

// Lets MPI wait, which knows best how. False: it cannot, since some requests are not of a carrier's messages.
bool RequestCalls::block_in_mpi(const Completion& call, std::span<const MPI_Request> requests) {
  if (!open_.empty()) return false;
  std::vector<PendingMessage*> waiting;
  for (const MPI_Request request : requests) {
    PendingMessage* const pending = requests_.find(request);
    if (pending == nullptr && request != MPI_REQUEST_NULL) return false;
    if (pending != nullptr && !pending->done) waiting.push_back(pending);
  }
  const FailureHandler::Quiet quiet;
  if (call.is_for_all() || waiting.size() == 1) {
    for (PendingMessage* const pending : waiting)
      if (!wait_for(*pending)) break;
    return true;
  }
  while (true)
    for (PendingMessage* const pending : waiting)
      if (!receives_.test(*pending) || pending->done) return true;
}

// One request at a time: where one of several fails, MPI frees others that are under way (see RepairCalls). False: it
// has failed.
bool RequestCalls::wait_for(PendingMessage& pending) {
  MPI_Status status{};
  const int code = MPI_Wait(&pending.real, &status);
  if (pending.real == MPI_REQUEST_NULL || code == MPI_SUCCESS)
    receives_.settle(pending, code, status);
  else
    job_.lifeline().cut();
  return code == MPI_SUCCESS;
}

std::optional<replay::DeadlockCheck::Needs> RequestCalls::needs_of(const Completion& call,
                                                                   std::span<const MPI_Request> requests) {
  if (job_.has_other_threads()) return {};
  receives_.settle_what_is_over();
  replay::DeadlockCheck::Needs needs;
  for (const MPI_Request request : requests) {
    if (request == MPI_REQUEST_NULL) continue;
    const PendingMessage* const pending = requests_.find(request);
    if (pending == nullptr) return {};
    if (!pending->is_active) continue;
    if (pending->done && !call.is_for_all()) return {};
    if (pending->done) continue;
    if (!pending->is_logged || (pending->sends && !pending->need)) return {};
    needs.push_back(pending->sends ? *pending->need
                                   : counts_.message(*pending->channel, pending->in.peer, pending->in.tag));
  }
  if (needs.empty()) return {};
  return needs;
}

int RequestCalls::free(MPI_Request* request) {
  (void)job_.note_caller();
  PendingMessage* const pending = &mine(*request);
  if (!pending->done) {
    job_.obstructs(job_.my_name() + " calls MPI_Request_free on a pending request",
                   replay::Journal::Until::next_snapshot);
    if (pending->real != MPI_REQUEST_NULL) MPI_Request_free(&pending->real);
  }
  if (pending->is_open) open_.remove(*pending);
  requests_.remove(*request);
  return MPI_SUCCESS;
}

int RequestCalls::cancel(MPI_Request* request) {
  PendingMessage* const pending = &mine(*request);
  job_.obstructs(job_.my_name() + " calls MPI_Cancel", replay::Journal::Until::next_snapshot);
  if (pending->is_open) {
    open_.remove(*pending);
    pending->done = true;
    MPI_Status_set_cancelled(&pending->status, 1);
  }
  return pending->done || pending->real == MPI_REQUEST_NULL ? MPI_SUCCESS : MPI_Cancel(&pending->real);
}

int RequestCalls::look_at(MPI_Request request, int* flag, MPI_Status* status) {
  (void)job_.note_caller();
  PendingMessage& pending = mine(request);
  Patience patience(job_);
  while (!receives_.advance_open() || !receives_.test(pending) || !patience.looks())
    if (!job_.stays()) return MPI_ERR_OTHER;
  *flag = pending.done ? 1 : 0;
  if (pending.done && status != MPI_STATUS_IGNORE) *status = pending.status;
  return MPI_SUCCESS;
}

}  // namespace cairn
