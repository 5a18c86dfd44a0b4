// Snapshots and records that are there and cannot be read. That they are there counts: a start that took them for
// nothing would begin anew, and retire them. A newer Cairn's, and those that are not sealed as this job's files are
// (format/sealer), are refused, or left alone where a fresh start was asked for; damaged ones stay until something
// newer is safe. Such a chain mark is refused in the same way, but a fresh start takes its place: the store is of the
// new chain then. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "store/store.hpp"

namespace cairn {

// Whether a file with such an error is not ours to judge.
[[nodiscard]] constexpr bool is_others(Code code) { return code == Code::newer_format || code == Code::untrusted; }

struct Unreadable {
  FileName file;    // its manifest, the record, or the mark
  DirName dir;      // of a snapshot; empty: a record, or the mark
  Version version;  // 0: the same
  RunId run;        // 0: the mark
  Error error;

  [[nodiscard]] bool is_others() const { return cairn::is_others(error.code); }
  [[nodiscard]] bool damaged() const { return error.code == Code::corrupt; }
  [[nodiscard]] bool is_mark() const { return run.value == 0; }
};

// What tells whether something unreadable is of the past: lives before the newest fresh start, and the newest version
// that can be read, since numbers only grow. But a version that can be read may not be whole, and the job go back to
// one that is older: what is not ours to judge of a life since then is never of the past. Where no record of a fresh
// start is left, a life without a record may be since then.
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

// A store's chain mark, as such.
[[nodiscard]] Unreadable unreadable_mark(const Error& error);

// Why no start may go on beside a file that is not ours to judge, and what to do.
[[nodiscard]] Error refusal_of(const Store& store, const Unreadable& what);

}  // namespace cairn
