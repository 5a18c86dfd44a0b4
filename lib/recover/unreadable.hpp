// Snapshots and records that exist but cannot be read. They must not be ignored: a start that ignored them would start
// fresh and retire them. The job refuses files of a newer Cairn, or with another seal than its own (format/sealer); a
// fresh start leaves them alone. Damaged files stay until something newer is safe. The job refuses an unreadable chain
// mark in the same way, but a fresh start replaces it: then the store belongs to the new chain. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "store/store.hpp"

namespace cairn {

// Whether this job cannot judge a file with such an error. The file may be whole, but this job cannot read it. So it
// must neither count as damaged nor be removed.
[[nodiscard]] constexpr bool is_others(Code code) { return code == Code::newer_format || code == Code::untrusted; }

// What is known of some files, in this order: all can be read; the others are damaged; some cannot be read now, and may
// be whole.
enum class Unread { none, damaged, perhaps_whole };

struct Unreadable {
  FileName file;    // its manifest, the record, or the mark
  DirName dir;      // of a snapshot; empty: a record, or the mark
  Version version;  // 0: the same
  RunId run;        // 0: the mark
  Error error;

  [[nodiscard]] bool is_others() const { return cairn::is_others(error.code); }
  [[nodiscard]] bool damaged() const { return error.code == Code::corrupt; }
  [[nodiscard]] Unread kind() const { return damaged() ? Unread::damaged : Unread::perhaps_whole; }
  [[nodiscard]] bool is_mark() const { return run.value == 0; }
  // Whether it can be removed once a snapshot of this version is complete at all its levels.
  [[nodiscard]] bool can_go_after(Version newer) const { return damaged() && !dir.path.empty() && version < newer; }
};

// Decides whether something unreadable is of the past and no longer matters. It is, if its life came before the newest
// fresh start, or if its version is below the newest readable one, because numbers only grow. Exception: a readable
// version may be incomplete, and the job may roll back to an older one. So a file that this job cannot judge is never
// of the past if its life began after the newest fresh start. If no record of a fresh start is left, any life without a
// record counts as such a life.
struct Past {
  std::set<RunId> lives;
  std::set<RunId> lives_since;
  bool start_is_known = false;
  Version newest_readable;

  [[nodiscard]] bool has(const Unreadable& what) const {
    if (lives.contains(what.run)) return true;
    if (what.is_others() && (!start_is_known || lives_since.contains(what.run))) return false;
    return !what.dir.path.empty() && what.version < newest_readable;
  }
};

// A store's chain mark as something unreadable.
[[nodiscard]] Unreadable unreadable_mark(const Error& error);

// The hint of an error that no snapshot can be restored. `may_be_whole`: a file that cannot be read now may hold what
// is missing. ckpt-run then gives up with --fresh-if-unrecoverable, too.
[[nodiscard]] std::string cure_of_loss(bool may_be_whole);

// The error that refuses a start because of a file that this job cannot judge, with a hint what to do.
[[nodiscard]] Error refusal_of(const Store& store, const Unreadable& what);

}  // namespace cairn
