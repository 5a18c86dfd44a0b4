// The branch that a job is on. Somebody may have chosen a snapshot that is not the newest: then the newer ones are
// abandoned, and not restored any more, until somebody chooses one of them. The same holds for a snapshot that the
// program has rejected. Pure.
#pragma once

#include <set>
#include <vector>

#include "base/ids.hpp"
#include "format/manifest.hpp"

namespace cairn {

class Branch {
 public:
  struct Fork {
    Incarnation life;  // in which the choice was made
    Choice choice;
  };

  // The job continues from a chosen snapshot. Forks that were made after that snapshot was taken no longer count.
  void take(const Fork& fork);
  // The program cannot use this snapshot, unless somebody chooses it.
  void reject(const Identity& snapshot) { rejected_.insert(snapshot); }
  // Whether the snapshot was neither abandoned nor rejected.
  [[nodiscard]] bool has(const Identity& snapshot) const { return is_on(snapshot) && !rejected_.contains(snapshot); }
  // Whether it would be the branch's, if it was not rejected.
  [[nodiscard]] bool has_rejected(const Identity& snapshot) const {
    return rejected_.contains(snapshot) && is_on(snapshot);
  }
  // Those that count, oldest first. The snapshot of each was taken after the fork before it.
  [[nodiscard]] const std::vector<Fork>& forks() const { return forks_; }
  [[nodiscard]] const std::set<Identity>& rejected() const { return rejected_; }

 private:
  [[nodiscard]] bool is_on(const Identity& snapshot) const;

  std::vector<Fork> forks_;
  std::set<Identity> rejected_;
};

}  // namespace cairn
