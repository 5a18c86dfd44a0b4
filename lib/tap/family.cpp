#include "tap/family.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tap/hear.hpp"
#include "tap/world_guard.hpp"

namespace cairn::tap {
namespace {

std::atomic<std::size_t>& member_count() {
  static constinit std::atomic<std::size_t> count = 0;
  return count;
}

// Stands where an observer has left: a call that is under way may have begun with it, as when a callback of
// MPI_Finalize ends a session.
class Nobody final : public Observer {
 public:
  void began(const CallRecord& /*call*/) override {}
  void ended(const CallRecord& /*call*/) override {}
  void asked_in_vain(const CallRecord& /*call*/) override {}
  void posted(const CallRecord& /*request*/) override {}
  void started(std::uint64_t /*request*/) override {}
  void awaited(std::uint64_t /*request*/) override {}
  void still_pending(std::uint64_t /*request*/) override {}
  void completed(std::uint64_t /*request*/, bool /*persists*/) override {}
  void lost_count(const CallRecord& /*message*/) override {}
  void cancelled(std::uint64_t /*request*/) override {}
  void joined(const CommRecord& /*comm*/) override {}
  void left(std::uint64_t /*comm*/) override {}
  void named(std::uint64_t /*comm*/, std::string_view /*name*/) override {}
};

// Those of this process. A callback of MPI may open or end sessions while a call lasts, and the call keeps the list
// that it has begun with. So a list does not grow, and remove() goes through all of them.
class Observers {
 public:
  void add(Observer& observer) {
    std::vector<Observer*>& list = lists_.back();
    const auto place = std::ranges::find(list, &nobody_);
    if (place != list.end()) {
      *place = &observer;
    } else {
      lists_.push_back(list);
      lists_.back().push_back(&observer);
    }
  }
  void remove(const Observer& observer) {
    for (std::vector<Observer*>& list : lists_) std::ranges::replace(list, &observer, &nobody_);
  }
  [[nodiscard]] std::span<Observer* const> all() const { return lists_.back(); }

 private:
  Nobody nobody_;
  std::list<std::vector<Observer*>> lists_{1};  // each larger than the one before it
};

// All families of this process. MPI reuses the handle of a communicator that was freed.
class Registry {
 public:
  void add(MPI_Comm comm, std::unique_ptr<Member> member) {
    const std::scoped_lock lock(mutex_);
    auto& place = member_of_[comm];
    if (place) tell_of_end(*place);
    place = std::move(member);
    for (Observer* const observer : observers_.all())
      observer->joined({place->id, 0, static_cast<std::uint32_t>(place->ranks.size()), 0});
    change();
  }
  void remove(MPI_Comm comm) {
    const std::scoped_lock lock(mutex_);
    const auto found = member_of_.find(comm);
    if (found == member_of_.end()) return;
    tell_of_end(*found->second);
    member_of_.erase(found);
    change();
  }
  void name(MPI_Comm comm, std::string_view name) {
    const std::scoped_lock lock(mutex_);
    const auto found = member_of_.find(comm);
    if (found == member_of_.end()) return;
    for (Observer* const observer : observers_.all()) observer->named(found->second->id, name);
  }
  void remove(const Family* family) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(begun_, [&](const auto& begun) {
      const auto parent = member_of_.find(begun.second.parent);
      return parent == member_of_.end() || parent->second->family == family;
    });
    std::erase_if(member_of_, [&](const auto& member) { return member.second->family == family; });
    change();
  }
  // Every call of the application looks here, so each thread caches its results until something changes.
  [[nodiscard]] Member* find(MPI_Comm comm) {
    struct Found {
      MPI_Comm comm = MPI_COMM_NULL;
      std::uint64_t change = 0;
      Member* member = nullptr;
    };
    constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;  // Knuth's multiplier for hashing
    thread_local std::array<Found, 16> remembered;
    const std::uint64_t now = changes_.load(std::memory_order_acquire);
    Found& found = remembered[(std::hash<MPI_Comm>()(comm) * kGolden) >> 60U];
    static_assert(remembered.size() == 16);
    if (found.comm == comm && found.change == now) return found.member;
    const std::scoped_lock lock(mutex_);
    const auto there = member_of_.find(comm);
    found = {comm, changes_, there == member_of_.end() ? nullptr : there->second.get()};
    return found.member;
  }

  void begin(MPI_Request request, const Begun& begun) {
    const std::scoped_lock lock(mutex_);
    begun_[request] = begun;
    under_way_ = begun_.size();
  }
  [[nodiscard]] Begun take(MPI_Request request) {
    const std::scoped_lock lock(mutex_);
    const auto found = begun_.find(request);
    if (found == begun_.end()) return {};
    const Begun begun = found->second;
    begun_.erase(found);
    under_way_ = begun_.size();
    return begun;
  }
  [[nodiscard]] bool any_begun() const { return under_way_ > 0; }

  void add(Observer& observer) {
    const std::scoped_lock lock(mutex_);
    observers_.add(observer);
  }
  void remove(const Observer& observer) {
    const std::scoped_lock lock(mutex_);
    observers_.remove(observer);
  }
  [[nodiscard]] std::span<Observer* const> observers() const { return observers_.all(); }

 private:
  void tell_of_end(const Member& member) const {
    for (Observer* const observer : observers_.all()) observer->left(member.id);
  }
  void change() {
    member_count() = member_of_.size();
    under_way_ = begun_.size();
    changes_.fetch_add(1, std::memory_order_release);
  }

  std::mutex mutex_;
  std::unordered_map<MPI_Comm, std::unique_ptr<Member>> member_of_;
  std::unordered_map<MPI_Request, Begun> begun_;
  Observers observers_;
  std::atomic<std::size_t> under_way_ = 0;  // the size of `begun_`, readable without the lock
  std::atomic<std::uint64_t> changes_ = 1;
};

// Never destroyed: static objects of the application may free communicators when the process ends.
Registry& registry() {
  static auto& one = *new Registry;  // NOLINT(cppcoreguidelines-owning-memory)
  return one;
}

void join(Family& family, MPI_Comm comm, const Birth& birth) {
  auto member = std::make_unique<Member>();
  member->family = &family;
  describe(*member, family.root(), comm, birth);
  member->all_know = birth.all_know;
  // What has no parent's number to tell it apart was made by just these ranks, which have all made as many like it.
  if (birth.parent == 0) tell_apart(*member, family.count_like(member->id));
  registry().add(comm, std::move(member));
}

}  // namespace

Family::Family(MPI_Comm root, std::function<void(MPI_Comm)> on_made) : root_(root), on_made_(std::move(on_made)) {
  Call::none_lasts();
  join(*this, root, {});
}
Family::~Family() { registry().remove(this); }

std::uint64_t Family::count_like(std::uint64_t id) {
  const std::scoped_lock lock(mutex_);
  return like_[id]++;
}

bool Family::has(MPI_Comm comm) const {
  const Member* const member = registry().find(comm);
  return member != nullptr && member->family == this;
}

const std::atomic<std::size_t>& members() { return member_count(); }

Member* member_of(MPI_Comm comm) { return anybody_listens() ? registry().find(comm) : nullptr; }

Birth next_child_of(MPI_Comm parent) {
  Member* const member = member_of(parent);
  return member == nullptr ? Birth{} : Birth{.parent = member->id, .number = member->children.fetch_add(1) + 1};
}

void made(MPI_Comm parent, MPI_Comm comm, const Birth& birth) {
  const Member* const of = registry().find(parent);
  if (of == nullptr) {
    registry().remove(comm);  // the handle may be that of a communicator that was freed unseen
    made_outside(comm);
    return;
  }
  join(*of->family, comm, {birth.parent, birth.number, birth.all_know && of->all_know});
  of->family->made(comm);
}

void ended(MPI_Comm comm) { registry().remove(comm); }

void named(MPI_Comm comm, std::string_view name) { registry().name(comm, name); }

void begun(MPI_Request request, const Begun& begun) {
  if (registry().find(begun.parent) != nullptr) registry().begin(request, begun);
}

bool any_begun() { return registry().any_begun(); }

void completed(MPI_Request request) {
  const Begun begun = registry().take(request);
  if (begun.comm != MPI_COMM_NULL) made(begun.parent, begun.comm, begun.birth);
}

Listening::Listening(Observer& observer) : observer_(observer) { registry().add(observer); }
Listening::~Listening() { registry().remove(observer_); }

std::span<Observer* const> observers() { return registry().observers(); }

}  // namespace cairn::tap
