// Where the lines of Cairn's log go.
#pragma once

#include <functional>
#include <string>

namespace cairn {

// From the most severe on. [log] level says which lines there are.
enum class LogLevel { error, warning, info, debug, off };

// Local. Cairn passes each line of its log to `log`, without the "cairn: " that it has on stderr; an empty function
// sends the lines to stderr again. Call it in each process before a session is opened there; heads write lines, too.
//
// `log` is called from any thread, also while the application computes, but never twice at once. It may call neither
// MPI nor Cairn. What it throws is dropped. The level is error, warning, info or debug.
void set_log(std::function<void(LogLevel level, const std::string& line)> log);

}  // namespace cairn
