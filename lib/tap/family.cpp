#include "tap/family.hpp"

#include <atomic>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "tap/hear.hpp"

namespace cairn::tap {
namespace {

// All families of this process. MPI gives the handle of a communicator that has ended to another one.
class Registry {
 public:
  struct Begun {
    Family* family;
    MPI_Comm comm;
  };

  void add(Family* family, MPI_Comm comm) {
    const std::scoped_lock lock(mutex_);
    family_of_[comm] = family;
    members_ = family_of_.size();
  }
  void remove(MPI_Comm comm) {
    const std::scoped_lock lock(mutex_);
    family_of_.erase(comm);
    members_ = family_of_.size();
  }
  void remove(const Family* family) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(family_of_, [&](const auto& member) { return member.second == family; });
    std::erase_if(begun_, [&](const auto& begun) { return begun.second.family == family; });
    members_ = family_of_.size();
    under_way_ = begun_.size();
  }
  [[nodiscard]] Family* of(MPI_Comm comm) {
    if (members_ == 0) return nullptr;
    const std::scoped_lock lock(mutex_);
    const auto found = family_of_.find(comm);
    return found == family_of_.end() ? nullptr : found->second;
  }
  [[nodiscard]] bool is_empty() const { return members_ == 0; }

  void begin(MPI_Request request, const Begun& begun) {
    const std::scoped_lock lock(mutex_);
    begun_[request] = begun;
    under_way_ = begun_.size();
  }
  [[nodiscard]] Begun take(MPI_Request request) {
    const std::scoped_lock lock(mutex_);
    const auto found = begun_.find(request);
    if (found == begun_.end()) return {nullptr, MPI_COMM_NULL};
    const Begun begun = found->second;
    begun_.erase(found);
    under_way_ = begun_.size();
    return begun;
  }
  [[nodiscard]] bool any_begun() const { return under_way_ > 0; }

 private:
  std::mutex mutex_;
  std::unordered_map<MPI_Comm, Family*> family_of_;
  std::unordered_map<MPI_Request, Begun> begun_;
  // Their sizes, for who need not look closer.
  std::atomic<std::size_t> members_ = 0;
  std::atomic<std::size_t> under_way_ = 0;
};

// Never destroyed: static objects of the application may end communicators when the process does.
Registry& registry() {
  static auto& one = *new Registry;  // NOLINT(cppcoreguidelines-owning-memory)
  return one;
}

void join(Family* family, MPI_Comm comm) {
  if (family == nullptr) {
    registry().remove(comm);  // the handle may have been that of one that ended unheard
    return;
  }
  registry().add(family, comm);
  family->made(comm);
}

}  // namespace

Family::Family(MPI_Comm root, std::function<void(MPI_Comm)> on_made) : on_made_(std::move(on_made)) {
  link_calls();
  Call::none_lasts();
  registry().add(this, root);
}
Family::~Family() { registry().remove(this); }

bool Family::has(MPI_Comm comm) const { return registry().of(comm) == this; }

bool anybody_listens() { return !registry().is_empty(); }

void made(MPI_Comm parent, MPI_Comm comm) { join(registry().of(parent), comm); }

void ended(MPI_Comm comm) { registry().remove(comm); }

void begun(MPI_Comm parent, MPI_Comm comm, MPI_Request request) {
  if (Family* const family = registry().of(parent)) registry().begin(request, {family, comm});
}

bool any_begun() { return registry().any_begun(); }

void completed(MPI_Request request) {
  const auto begun = registry().take(request);
  if (begun.family != nullptr) join(begun.family, begun.comm);
}

}  // namespace cairn::tap
