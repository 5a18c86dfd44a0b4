#include "tap/world_guard.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "tap/hear.hpp"
#include "tap/world.hpp"

namespace cairn::tap {
namespace {

// The newest of this process. One is enough: whichever session it belongs to, the call would block.
std::atomic<const WorldGuard*>& current() {
  static constinit std::atomic<const WorldGuard*> guard = nullptr;
  return guard;
}

// The application's communicators that are in no family. Which of their ranks are heads is found out once a guard asks.
class Outside {
 public:
  void add(MPI_Comm comm) {
    const std::scoped_lock lock(mutex_);
    heads_of_.insert_or_assign(comm, std::nullopt);
    count_ = heads_of_.size();
  }
  void remove(MPI_Comm comm) {
    if (count_ == 0) return;
    const std::scoped_lock lock(mutex_);
    heads_of_.erase(comm);
    count_ = heads_of_.size();
  }
  void forget_heads() {
    const std::scoped_lock lock(mutex_);
    for (auto& [comm, heads] : heads_of_) heads.reset();
  }
  [[nodiscard]] bool is_empty() const { return count_ == 0; }
  [[nodiscard]] std::vector<MPI_Comm> all() {
    const std::scoped_lock lock(mutex_);
    std::vector<MPI_Comm> comms;
    for (const auto& [comm, heads] : heads_of_) comms.push_back(comm);
    return comms;
  }
  // None: no such communicator is known.
  [[nodiscard]] std::vector<bool> heads_in(MPI_Comm comm, const WorldGuard& guard) {
    const std::scoped_lock lock(mutex_);
    const auto found = heads_of_.find(comm);
    if (found == heads_of_.end()) return {};
    if (!found->second) found->second = guard.heads_in(comm);
    return *found->second;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<MPI_Comm, std::optional<std::vector<bool>>> heads_of_;
  std::atomic<std::size_t> count_ = 0;
};

// Never destroyed: static objects of the application may free communicators when the process ends.
Outside& outside() {
  static auto& one = *new Outside;  // NOLINT(cppcoreguidelines-owning-memory)
  return one;
}

// The guard, if this communicator may have heads.
const WorldGuard* guard_of(MPI_Comm comm) {
  const WorldGuard* const guard = current().load(std::memory_order_acquire);
  if (guard == nullptr || comm == MPI_COMM_WORLD) return guard;
  if (guard->is_before_session()) return comm == application_world() ? guard : nullptr;
  return outside().is_empty() || member_of(comm) != nullptr ? nullptr : guard;
}

std::vector<bool> heads_in(MPI_Comm comm, const WorldGuard& guard) {
  return comm == MPI_COMM_WORLD ? guard.heads_in(comm) : outside().heads_in(comm, guard);
}

}  // namespace

WorldGuard::WorldGuard(std::function<void(const BlockedCall&)> report)
    : is_before_session_(true), report_(std::move(report)) {
  current() = this;
}

WorldGuard::WorldGuard(std::vector<bool> heads, std::function<void(const BlockedCall&)> report)
    : heads_(std::move(heads)), report_(std::move(report)) {
  outside().forget_heads();
  current() = this;
}

WorldGuard::~WorldGuard() {
  const WorldGuard* me = this;
  current().compare_exchange_strong(me, nullptr);
}

std::vector<bool> WorldGuard::heads_in(MPI_Comm comm) const {
  if (comm == MPI_COMM_WORLD) return heads_;
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  int has_two_sides = 0;
  MPI_Comm_test_inter(comm, &has_two_sides);
  has_two_sides != 0 ? MPI_Comm_remote_group(comm, &group) : MPI_Comm_group(comm, &group);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  int size = 0;
  MPI_Group_size(group, &size);
  std::vector<int> here(static_cast<std::size_t>(size));
  std::vector<int> there(here.size(), MPI_UNDEFINED);
  std::iota(here.begin(), here.end(), 0);
  MPI_Group_translate_ranks(group, size, here.data(), world, there.data());
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  std::vector<bool> heads;
  for (const int rank : there)
    heads.push_back(rank >= 0 && static_cast<std::size_t>(rank) < heads_.size() &&
                    heads_[static_cast<std::size_t>(rank)]);
  return std::ranges::find(heads, true) == heads.end() ? std::vector<bool>{} : heads;
}

void check_collective(const char* call, MPI_Comm comm) {
  const WorldGuard* const guard = guard_of(comm);
  if (guard == nullptr) return;
  const bool on_world = comm == MPI_COMM_WORLD || guard->is_before_session();
  if (on_world || !heads_in(comm, *guard).empty()) guard->report({call, on_world, {}});
}

void check_opening(const char* call, MPI_Comm comm) {
  const WorldGuard* const guard = guard_of(comm);
  if (guard == nullptr || guard->is_before_session() || heads_in(comm, *guard).empty()) return;
  guard->report({call, comm == MPI_COMM_WORLD, {}});
}

void check_message(const char* call, MPI_Comm comm, int peer) {
  if (peer == MPI_PROC_NULL) return;
  const WorldGuard* const guard = guard_of(comm);
  if (guard == nullptr) return;
  if (guard->is_before_session()) return guard->report({call, true, {}});
  if (peer < 0) return;  // any rank
  const std::vector<bool> heads = heads_in(comm, *guard);
  if (static_cast<std::size_t>(peer) < heads.size() && heads[static_cast<std::size_t>(peer)])
    guard->report({call, comm == MPI_COMM_WORLD, peer});
}

void check_part(const char* call, MPI_Comm comm) {
  const WorldGuard* const guard = guard_of(comm);
  if (guard != nullptr && guard->is_before_session()) guard->report({call, true, {}});
}

void made_outside(MPI_Comm comm) { outside().add(comm); }
void ended_outside(MPI_Comm comm) { outside().remove(comm); }
std::vector<MPI_Comm> all_outside() { return outside().all(); }
bool is_outside(MPI_Comm comm) {
  const auto all = all_outside();
  return std::ranges::find(all, comm) != all.end();
}

}  // namespace cairn::tap
