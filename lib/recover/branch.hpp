// The branch that a job is on. Somebody may have chosen a snapshot that is not the newest: then the newer ones are
// abandoned, and not restored any more, until somebody chooses one of them. Pure.
#pragma once

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
  // Whether the snapshot was not abandoned.
  [[nodiscard]] bool has(const Identity& snapshot) const;
  // Those that count, oldest first. The snapshot of each was taken after the fork before it.
  [[nodiscard]] const std::vector<Fork>& forks() const { return forks_; }

 private:
  std::vector<Fork> forks_;
};

}  // namespace cairn
