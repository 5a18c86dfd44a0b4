// Which snapshots a job has left for good, since it chose an older one or rejected them, and which are pinned. A part
// of the judge: see model.hpp. Stamps are those of states.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace cairn::torture {

class Branches {
 public:
  // The job is about to go on from this state, of this version, and leaves all that were tried after it, up to the
  // newest; it has done so on all ranks; or it could not. 0: nobody knows which state that is.
  struct Choice {
    std::uint32_t version = 0;
    bool at_start = false;  // by the first call of a life
  };
  void chooses(const Choice& choice, std::uint64_t stamp, std::uint64_t newest);
  void has_chosen(std::uint64_t stamp);
  void has_not_chosen();
  // A rank is about to reject the state of this stamp; it has, on all ranks.
  void rejects(std::uint64_t stamp) { doubtful_.insert(stamp); }
  void has_rejected(std::uint64_t stamp) { rejected_.insert(stamp); }
  // The snapshot of this state will be pinned. A version is at L4; it is damaged there, or rejected.
  void pins(std::uint64_t stamp) { to_pin_.insert(stamp); }
  void is_safe(std::uint32_t version, std::uint64_t stamp) {
    if (to_pin_.contains(stamp)) pinned_[version] = stamp;
  }
  void is_unpinned(std::uint32_t version) { pinned_.erase(version); }

  void begin_life();
  // The records of all that are lost; or the chain is over: a program that chose its version is not to choose it again.
  void forget() { *this = Branches{}; }
  void end();

  // Whether a state does not come back any more; or may not.
  [[nodiscard]] bool has_left(std::uint64_t stamp) const;
  [[nodiscard]] bool may_have_left(std::uint64_t stamp) const;
  // Whether it may have been the last that was chosen at a start, or was for certain. The first call of a life that
  // asks for it goes on from the newest of its branch.
  [[nodiscard]] bool may_be_last(std::uint32_t version) const { return last_.contains(version); }
  [[nodiscard]] bool is_last(std::uint32_t version) const { return last_ == std::set{version}; }
  // 0: none.
  [[nodiscard]] std::uint32_t newest_pinned() const { return pinned_.empty() ? 0 : pinned_.rbegin()->first; }
  // Whether it is the newest that was to be.
  [[nodiscard]] bool newest_is_pinned() const {
    return !pinned_.empty() && pinned_.rbegin()->second == *to_pin_.rbegin();
  }

 private:
  struct Fork {
    Choice choice;
    std::uint64_t chosen = 0;
    std::uint64_t newest = 0;
  };
  void bring_back(std::uint64_t chosen);
  [[nodiscard]] static bool leaves(const Fork& fork, std::uint64_t stamp) {
    return stamp > fork.chosen && stamp <= fork.newest;
  }

  std::vector<Fork> forks_;
  std::optional<Fork> under_way_;
  std::set<std::uint32_t> last_;  // 0: none may have been
  std::set<std::uint64_t> rejected_;
  std::set<std::uint64_t> doubtful_;  // of this life: may be rejected
  std::set<std::uint64_t> to_pin_;
  std::map<std::uint32_t, std::uint64_t> pinned_;  // those that are
};

}  // namespace cairn::torture
