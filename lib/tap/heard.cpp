#include "tap/heard.hpp"

#include <ctime>
#include <utility>
#include <vector>

#include "tap/repair_guard.hpp"

namespace cairn::tap {
namespace {

// A coarse clock: a precise one takes longer than many MPI calls.
std::int64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

std::uint64_t bytes_of(const Site& site) {
  if (site.count <= 0 || site.type == MPI_DATATYPE_NULL) return 0;
  int bytes = 0;
  MPI_Type_size(site.type, &bytes);
  return bytes > 0 ? static_cast<std::uint64_t>(bytes) * static_cast<std::uint64_t>(site.count) : 0;
}

RepairGuard::Direction direction_of(CallKind kind) {
  if (kind == CallKind::send) return RepairGuard::Direction::sends;
  return kind == CallKind::receive ? RepairGuard::Direction::receives : RepairGuard::Direction::both;
}

// The requests of this thread's outermost call, as they were before it. Static, so that a call does not allocate.
std::vector<MPI_Request>& requests_before() {
  thread_local std::vector<MPI_Request> requests;
  return requests;
}

}  // namespace

// Initial-exec: every call of the application looks here, and these are few of the bytes that a library may so have.
int& Call::depth() {
  [[gnu::tls_model("initial-exec")]] thread_local constinit int calls = 0;
  return calls;
}

int& Callback::depth() {
  [[gnu::tls_model("initial-exec")]] thread_local constinit int calls = 0;
  return calls;
}
Callback::Callback() : before_(std::exchange(depth(), Call::nested())) {}

void Heard::begin(CallKind kind, const Site& site, MPI_Request about) {
  if (site.comm != MPI_COMM_NULL) {
    Member* const member = member_of(site.comm);
    if (member == nullptr) return;
    record_.comm = member->id;
    record_.peer = member->rank_of(site.peer);
    if (kind == CallKind::collective) record_.number = ++member->collectives;
  }
  record_.tag = site.tag == MPI_ANY_TAG ? kAnyTag : site.tag;
  record_.bytes = bytes_of(site);
  if (about != MPI_REQUEST_NULL) record_.request = number_of(about);
  record_.call = site.number;
  record_.kind = kind;
  record_.began = now();
  lasts_ = true;
  told_ = observers();
  for (Observer* const observer : told_) observer->began(record_);
}

void Heard::end() {
  if (record_.ended == 0) record_.ended = now();
  for (Observer* const observer : told_) in_vain_ ? observer->asked_in_vain(record_) : observer->ended(record_);
}

void Heard::posts(CallKind kind, MPI_Request request, bool active) {
  if (!lasts() || request == MPI_REQUEST_NULL) return;
  if (RepairGuard* const guard = repair_guard()) guard->begun(request, active, direction_of(kind));
  const CallKind own_kind = std::exchange(record_.kind, kind);
  record_.request = number_of(request);
  record_.active = active ? 1 : 0;
  for (Observer* const observer : told_) observer->posted(record_);
  record_.ended = record_.began;  // it did not wait, and reading the clock takes time
  record_.active = 0;
  if (!active) record_.kind = own_kind;  // otherwise it can be that of the request: the call has not waited
}

void Heard::starts(std::span<const MPI_Request> requests) const {
  for (const MPI_Request request : requests) {
    if (RepairGuard* const guard = repair_guard()) guard->started(request);
    for (Observer* const observer : told_) observer->started(number_of(request));
  }
}

// A receive with a request that no other one has: this object is where no request can be.
void Heard::takes_message() const {
  CallRecord taken = record_;
  taken.kind = CallKind::receive;
  taken.request = reinterpret_cast<std::uintptr_t>(this);
  taken.ended = 0;
  taken.active = 1;
  for (Observer* const observer : told_) {
    observer->posted(taken);
    observer->completed(taken.request, false);
  }
}

void Heard::loses_count(CallKind kind, MPI_Comm comm, int peer, int tag) const {
  if (!lasts()) return;
  CallRecord message = record_;
  message.kind = kind;
  message.peer = member_of(comm)->rank_of(peer);
  message.tag = tag == MPI_ANY_TAG ? kAnyTag : tag;
  for (Observer* const observer : told_) observer->lost_count(message);
}

void Heard::cancels(MPI_Request request) const {
  for (Observer* const observer : told_) observer->cancelled(number_of(request));
}

Exchange::Exchange(const Call& call, const Site& site) : heard_(call, CallKind::wait_all, site) {
  if (!heard_.lasts() || site.comm == MPI_COMM_NULL) return;
  CallRecord sent = heard_.record();
  sent.kind = CallKind::send;
  sent.request = request(CallKind::send);
  sent.active = 1;
  CallRecord received = sent;
  received.kind = CallKind::receive;
  received.request = request(CallKind::receive);
  received.peer = member_of(site.comm)->rank_of(site.source);
  received.tag = site.source_tag == MPI_ANY_TAG ? kAnyTag : site.source_tag;
  received.bytes = 0;
  for (Observer* const observer : heard_.told()) {
    for (const CallRecord& pending : {sent, received}) {
      observer->posted(pending);
      observer->awaited(pending.request);
    }
  }
}

Exchange::~Exchange() {
  for (Observer* const observer : heard_.told()) {
    observer->completed(request(CallKind::send), false);
    observer->completed(request(CallKind::receive), false);
  }
}

// Numbers that no request has: this object is where no request can be.
std::uint64_t Exchange::request(CallKind kind) const {
  return reinterpret_cast<std::uintptr_t>(this) + (kind == CallKind::send ? 0 : 1);
}

Requests::Requests(const Call& call, const Heard& heard, Act act, std::span<const MPI_Request> requests)
    : told_(heard.told()) {
  if (told_.empty() && !(call.is_heard() && (any_begun() || repair_guard() != nullptr))) return;
  now_ = requests;
  requests_before().assign(requests.begin(), requests.end());
  if (act != Act::waits) return;
  for (const MPI_Request request : requests) {
    if (request == MPI_REQUEST_NULL) continue;
    for (Observer* const observer : told_) observer->awaited(number_of(request));
  }
}

std::span<const MPI_Request> Requests::before() const {
  return std::span<const MPI_Request>(requests_before()).first(now_.size());
}

void Requests::tell(std::size_t i, bool complete) const {
  const MPI_Request request = before()[i];
  const bool gone = now_[i] == MPI_REQUEST_NULL;
  if (gone && any_begun()) completed(request);
  if (RepairGuard* const guard = repair_guard(); guard != nullptr && complete && !guard_knows_)
    guard->completed(request, !gone);
  for (Observer* const observer : told_) {
    if (complete) {
      observer->completed(number_of(request), !gone);
    } else {
      observer->still_pending(number_of(request));
    }
  }
}

}  // namespace cairn::tap
