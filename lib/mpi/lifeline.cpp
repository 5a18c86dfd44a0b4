#include "mpi/lifeline.hpp"

#include <algorithm>

#include "mpi/ulfm.hpp"
#include "tap/hear.hpp"

namespace cairn {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{1};
constexpr std::chrono::seconds kBetweenLooksForExpected{1};  // much longer than MPI takes to tell of a death

// Attached to a communicator of the application, which may outlive the lifeline.
struct Adoption {
  std::weak_ptr<Lifeline> lifeline;
  MPI_Request keeper = MPI_REQUEST_NULL;  // never started: it only keeps MPI from ending the communicator
};

int on_free(MPI_Comm comm, int /*key*/, void* value, void* /*extra*/) {
  const std::unique_ptr<Adoption> adoption(static_cast<Adoption*>(value));
  const auto lifeline = adoption->lifeline.lock();
  if (!lifeline || lifeline->is_cut()) return MPI_SUCCESS;
  lifeline->remove(comm);
  return MPI_Request_free(&adoption->keeper);
}

}  // namespace

void Lifeline::add(MPI_Comm comm) {
  {
    const std::scoped_lock lock(mutex_);
    comms_.push_back(comm);
  }
  if (cut_) ulfm::revoke(comm);
}

void Lifeline::remove(MPI_Comm comm) {
  const std::scoped_lock lock(mutex_);
  std::erase(comms_, comm);
}

bool Lifeline::has(MPI_Comm comm) {
  const std::scoped_lock lock(mutex_);
  return std::ranges::find(comms_, comm) != comms_.end();
}

void Lifeline::adopt(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL || has(comm)) return;
  const tap::Unheard own;
  auto adoption = std::make_unique<Adoption>();
  adoption->lifeline = weak_from_this();
  int key = MPI_KEYVAL_INVALID;
  if (MPI_Recv_init(nullptr, 0, MPI_BYTE, 0, 0, comm, &adoption->keeper) == MPI_SUCCESS &&
      MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &on_free, &key, nullptr) == MPI_SUCCESS) {
    if (MPI_Comm_set_attr(comm, key, adoption.get()) == MPI_SUCCESS) (void)adoption.release();
    MPI_Comm_free_keyval(&key);
  }
  add(comm);
}

void Lifeline::watch() {
  if (cut_) return;
  const auto now = Clock::now();
  if (now < next_look_) return;
  next_look_ = now + kBetweenLooks;
  ulfm::let_news_come();
  if (ulfm::is_revoked(pool_) || ulfm::has_failed(world_) || misses_one()) cut();
}

bool Lifeline::misses_one() {
  const auto now = Clock::now();
  if (now < next_look_for_expected_) return false;
  next_look_for_expected_ = now + kBetweenLooksForExpected;
  const bool missed_before = std::exchange(missed_one_, std::ranges::any_of(expected_, is_gone));
  return missed_before && missed_one_;
}

void Lifeline::cut() {
  if (cut_.exchange(true)) return;
  // What is added from here on is revoked by who adds it. Without the lock: MPI may call an error handler, which comes
  // here again.
  const auto comms = [this] {
    const std::scoped_lock lock(mutex_);
    return comms_;
  }();
  ulfm::revoke(pool_);
  if (world_ != MPI_COMM_NULL) ulfm::revoke(world_);
  for (MPI_Comm comm : comms) ulfm::revoke(comm);
  if (then_) then_();
}

}  // namespace cairn
