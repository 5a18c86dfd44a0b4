#include "guard/repair_calls.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "comm/backoff.hpp"
#include "mpi/copied_message.hpp"
#include "mpi/failure_handler.hpp"
#include "mpi/place_in.hpp"
#include "mpi/ulfm.hpp"
#include "mpi/whole_count.hpp"
#include "tap/hear.hpp"

namespace cairn {
namespace {

using tap::Completed;
using tap::IncomingMessage;
using tap::OutgoingMessage;
using tap::Which;

bool is_over(MPI_Request request) {
  int over = 0;
  MPI_Request_get_status(request, &over, MPI_STATUS_IGNORE);
  return over != 0;
}

}  // namespace

std::int64_t RepairCalls::bytes_of(MPI_Count count, MPI_Datatype type) {
  MPI_Count bytes = 0;
  MPI_Type_size_x(type, &bytes);
  return std::int64_t{bytes} * count;
}

void RepairCalls::joins(std::shared_ptr<Lifeline> lifeline) {
  lifeline_ = std::move(lifeline);
  lifeline_->once_cut([this] { drain(); });
}

void RepairCalls::begun(MPI_Request request, bool active, Direction direction) {
  requests_.add(request, {active, direction});
}
void RepairCalls::started(MPI_Request request) { requests_.set_active(request, true); }
void RepairCalls::completed(MPI_Request request, bool persists) {
  persists ? requests_.set_active(request, false) : (void)requests_.take(request);
}

bool RepairCalls::is_idle(MPI_Request request) const {
  if (request == MPI_REQUEST_NULL) return true;
  const auto known = requests_.find(request);
  return known && !known->active;
}

RepairCalls::Asked RepairCalls::ask(Asks how, MPI_Request& request) {
  const MPI_Request before = request;
  auto kept = before == MPI_REQUEST_NULL ? std::nullopt : requests_.take(before);
  int over = 1;
  Asked asked;
  asked.code = FailureHandler::deferred([&] {
    return how == Asks::waits ? MPI_Wait(&request, &asked.status) : MPI_Test(&request, &over, &asked.status);
  });
  asked.is_done = over != 0 && asked.code == MPI_SUCCESS;
  if (kept && request == before) {
    kept->active = kept->active && !asked.is_done;
    requests_.add(before, *kept);
  }
  return asked;
}

int RepairCalls::look() {
  if (!looks_here()) return MPI_SUCCESS;
  lifeline_->watch();
  return lifeline_->is_cut() ? leaves() : MPI_SUCCESS;
}

int RepairCalls::leaves() {
  if (setting_.stays()) return MPI_SUCCESS;
  FailureHandler::tell_of_failure();
  return MPI_ERR_OTHER;
}

std::optional<int> RepairCalls::complete(Which which, std::span<MPI_Request> requests, const Completed& completed) {
  Completion call(which, requests.size(), completed);
  if (completed.flag != nullptr) {
    *completed.flag = 0;
    // Otherwise the requests tell of the failure.
    const int code = lifeline_->is_cut() ? MPI_SUCCESS : look();
    if (code != MPI_SUCCESS) return code;
  }
  // Nobody else knows whether one that persists has been started.
  const auto is_known = [this](MPI_Request one) { return one == MPI_REQUEST_NULL || requests_.find(one); };
  if (!call.is_for_all() && !std::ranges::all_of(requests, is_known)) return {};
  const int code = call.is_for_all() ? complete_all(call, requests) : complete_some(call, requests);
  if (code != MPI_SUCCESS || !lifeline_->is_cut()) return leaves_on_failure(code);
  return leaves();
}

int RepairCalls::complete_all(Completion& call, std::span<MPI_Request> requests) {
  if (call.tests() && requests.size() > 1 && !lifeline_->is_cut() && !std::ranges::all_of(requests, is_over))
    return call.end(true);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    // Once it is cut, nobody waits: a message from a rank that has left will not come.
    const Asked asked = ask(call.tests() || lifeline_->is_cut() ? Asks::tests : Asks::waits, requests[i]);
    if (asked.is_over()) call.found(i, asked.code, asked.status);
    if (ulfm::is_failure(asked.code)) lifeline_->cut();
  }
  const int code = call.end(true);
  return lifeline_->is_cut() ? call.first_error() : code;
}

int RepairCalls::complete_some(Completion& call, std::span<MPI_Request> requests) {
  bool any_active = false;
  do {
    any_active = false;
    for (std::size_t i = 0; i < requests.size() && !call.is_enough(); ++i) {
      if (is_idle(requests[i])) continue;
      any_active = true;
      const Asked asked = ask(Asks::tests, requests[i]);
      if (ulfm::is_failure(asked.code)) return asked.code;
      if (asked.is_over()) call.found(i, asked.code, asked.status);
    }
    if (!call.tests() && !call.has_found()) watch();
  } while (!call.tests() && any_active && !call.has_found() && !lifeline_->is_cut());
  return call.end(any_active);
}

// After a failure the lifeline keeps MPI from ending communicators (Lifeline::adopt). Of one with two groups Open MPI
// 5.0 frees a part at once, and uses that part at the next failure.
bool RepairCalls::keeps(MPI_Comm comm) const {
  return comm != MPI_COMM_NULL && has_two_groups(comm) && (lifeline_->is_cut() || ulfm::is_revoked(comm));
}

std::optional<int> RepairCalls::send(const OutgoingMessage& out) {
  if (bytes_of(out.count, out.type) <= kShort) return {};
  const auto begin = out.synchronous ? &MPI_Issend : &MPI_Isend;
  const WholeCount all(out.count, out.type);
  return leaves_on_failure(make_of([&](MPI_Request* request) {
    return begin(out.buffer, all.count(), all.type(), out.peer, out.tag, out.comm, request);
  }));
}

int RepairCalls::exchange(const OutgoingMessage& out, const IncomingMessage& in, MPI_Status* status) {
  auto copied = out.buffer == in.buffer && out.count > 0 ? CopiedMessage::of(out) : std::nullopt;
  // Without a copy MPI says what is wrong.
  if (!copied) return leaves_on_failure(in_parts(out, in, status).code);
  const auto [code, is_sent] = in_parts(copied->message, in, status);
  if (!is_sent) (void)std::make_unique<Buffer>(std::move(copied->bytes)).release();
  return leaves_on_failure(code);
}

RepairCalls::InParts RepairCalls::in_parts(const OutgoingMessage& out, const IncomingMessage& in, MPI_Status* status) {
  std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  std::array<MPI_Status, 2> statuses{};
  int code = MPI_SUCCESS;
  {
    const FailureHandler::Deferred deferred;
    const WholeCount all_in(in.count, in.type);
    const WholeCount all_out(out.count, out.type);
    code = MPI_Irecv(in.buffer, all_in.count(), all_in.type(), in.peer, in.tag, in.comm, &requests[0]);
    if (code == MPI_SUCCESS) {
      begun(requests[0], true, Direction::receives);
      code = MPI_Isend(out.buffer, all_out.count(), all_out.type(), out.peer, out.tag, out.comm, &requests[1]);
    }
  }
  if (code == MPI_SUCCESS) {
    begun(requests[1], true, Direction::sends);
    Completion both(Which::all, requests.size(), {.statuses = statuses.data()});
    code = complete_all(both, requests);
    if (code == MPI_ERR_IN_STATUS)
      code = statuses[0].MPI_ERROR != MPI_SUCCESS ? statuses[0].MPI_ERROR : statuses[1].MPI_ERROR;
    if (status != MPI_STATUS_IGNORE) *status = statuses[0];
  } else if (requests[0] != MPI_REQUEST_NULL && !ulfm::is_failure(code)) {
    // The send has a wrong argument.
    MPI_Cancel(requests.data());
    (void)ask(Asks::waits, requests[0]);
  }
  if (ulfm::is_failure(code)) lifeline_->cut();
  const bool is_sent = is_over(requests[1]);
  for (const MPI_Request request : requests) completed(request, false);
  return {code, is_sent};
}

bool RepairCalls::is_under_way(bool sends_too) const {
  return requests_.any([sends_too](MPI_Request request, const RequestTable::Entry& one) {
    if (!one.active || (one.direction == Direction::sends && !sends_too) || is_over(request)) return false;
    // One that has not matched is then over; so is one whose peer has died, as soon as MPI knows that.
    if (one.direction != Direction::both) MPI_Cancel(&request);
    return true;
  });
}

// Nothing is freed here: the application may still wait for its requests, or free them.
void RepairCalls::drain() {
  constexpr std::chrono::seconds kLongestSend{10};
  const tap::Unheard own;
  const FailureHandler::Quiet quiet;
  const auto start = std::chrono::steady_clock::now();
  const auto waited = [start] { return std::chrono::steady_clock::now() - start; };
  for (Backoff backoff; is_under_way(waited() < kLongestSend); backoff.sleep_a_little()) {
    if (waited() > setting_.limit) end_for_late_message(setting_.log, setting_.limit);
  }
  if (setting_.drains_others) setting_.drains_others();
}

int RepairCalls::leaves_on_failure(int code) {
  if (code == MPI_SUCCESS || (!lifeline_->is_cut() && !ulfm::is_failure(code))) return code;
  lifeline_->cut();
  drain();  // MPI had one of them when the lifeline was cut
  (void)setting_.stays();
  return code;
}

}  // namespace cairn
