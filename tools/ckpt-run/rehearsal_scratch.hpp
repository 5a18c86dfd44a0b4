// The stores of one rehearsal: those of three jobs, whose names have a number that no other rehearsal has. A directory
// in the global store is the mark of that number:
//
//   GLOBAL/.NAME.rehearsal-HOST-1a2b3c4d/owner     locked while the rehearsal, or a process that it has started, lives
//   GLOBAL/NAME.rehearsal-1a2b3c4d-failing         the snapshots of one of its runs; likewise in the local stores
//
// The mark is there before all else, and is removed last. So a mark whose lock is free was left by a rehearsal that was
// killed, and the next rehearsal of this job on this host takes it over, with its number. Its runs start fresh in the
// stores of that number, also in those of other hosts.
//
// Local.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "config/config.hpp"

namespace ckpt_run {

class RehearsalScratch {
 public:
  // Removes what rehearsals of this job have left in stores that this host sees, if they were killed on this host.
  // Code::io, with the path.
  [[nodiscard]] static cairn::Result<RehearsalScratch> make(const cairn::Config& config, const std::string& host);
  // Removes the stores that this host sees, and the mark.
  ~RehearsalScratch();
  RehearsalScratch(RehearsalScratch&& other) noexcept;
  RehearsalScratch(const RehearsalScratch&) = delete;
  RehearsalScratch& operator=(const RehearsalScratch&) = delete;

  // The name of a run's job: "failing", for instance.
  [[nodiscard]] std::string job(std::string_view run) const;
  // A directory for the deaths and notes of a run, which does not exist.
  [[nodiscard]] std::string directory(std::string_view run) const;

 private:
  RehearsalScratch(const cairn::Config& config, std::string mark, int lock);
  void remove_stores() const;

  const cairn::Config* config_;
  std::string mark_;  // the directory; empty: moved from
  int lock_;          // of its file; inherited by the processes that this one starts
};

}  // namespace ckpt_run
