// Sends Cairn's log to a function of the application.
#pragma once

#include <functional>
#include <string>

namespace cairn {

// How severe a line of the log is, most severe first. [log] level chooses which lines are written; off writes none.
enum class LogLevel {
  error,    // a call fails, or the job ends
  warning,  // the job continues, but something needs attention
  info,     // what Cairn did
  debug,    // details, for work on Cairn
  off,      // only for [log] level: no line has this level
};

// Passes each line of Cairn's log to `log`, without the prefix "cairn: ", instead of writing it to stderr. An empty
// function restores stderr. Cairn calls `log` from any of its threads, even while the application computes, but never
// from two threads at once. Cairn drops what `log` throws.
//
// Local.
// Requires: it is called in each process, before a session is opened there, since heads write lines too. `log` calls
// neither MPI nor Cairn.
void set_log(std::function<void(LogLevel level, const std::string& line)> log);

}  // namespace cairn
