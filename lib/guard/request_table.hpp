// The application's requests on communicators that a session knows, for RepairCalls. Every message passes through here
// twice, so nothing is allocated again for it, and nothing is locked unless several threads make MPI calls.
#pragma once

#include <mpi.h>

#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "mpi/call_lock.hpp"
#include "tap/repair_guard.hpp"

namespace cairn {

class RequestTable {
 public:
  struct Entry {
    bool active = false;  // not one that persists and is not started
    tap::RepairGuard::Direction direction{};
  };

  explicit RequestTable(bool has_threads) : lock_(has_threads) {}

  void add(MPI_Request request, const Entry& entry) {
    const auto held = lock_.hold();
    if (spare_.empty()) {
      entries_[request] = entry;
      return;
    }
    auto node = std::move(spare_.back());
    spare_.pop_back();
    node.key() = request;
    node.mapped() = entry;
    auto added = entries_.insert(std::move(node));
    if (!added.inserted) added.position->second = entry;
  }

  // What it was; nothing if it is not there.
  std::optional<Entry> take(MPI_Request request) {
    const auto held = lock_.hold();
    auto node = entries_.extract(request);
    if (!node) return {};
    const Entry entry = node.mapped();
    spare_.push_back(std::move(node));
    return entry;
  }

  void set_active(MPI_Request request, bool active) {
    const auto held = lock_.hold();
    if (const auto found = entries_.find(request); found != entries_.end()) found->second.active = active;
  }

  [[nodiscard]] std::optional<Entry> find(MPI_Request request) const {
    const auto held = lock_.hold();
    const auto found = entries_.find(request);
    return found == entries_.end() ? std::nullopt : std::optional(found->second);
  }

  // Whether `holds` is true for any; asks all.
  template <class Holds>
  [[nodiscard]] bool any(Holds holds) const {
    const auto held = lock_.hold();
    bool found = false;
    for (const auto& [request, entry] : entries_) found = holds(request, entry) || found;
    return found;
  }

 private:
  using Entries = std::unordered_map<MPI_Request, Entry>;

  CallLock lock_;
  Entries entries_;
  std::vector<Entries::node_type> spare_;
};

}  // namespace cairn
