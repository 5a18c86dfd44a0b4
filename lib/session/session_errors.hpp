// What becomes of errors on the way: they are reported once, and ckpt-run finds a mark.
#pragma once

#include "session/session_state.hpp"

namespace cairn {

// Whether the job continues after this error without an exception: the log has it, and wait() and finalize() report it.
[[nodiscard]] bool goes_on_after(SessionState& session, const Error& error);

// Each background error is reported once, by the call after it became known.
[[nodiscard]] Status report_errors(SessionState& session);

// Whether the newest snapshot is at the levels that it was meant for, or at higher ones.
[[nodiscard]] Status newest_is_safe(const SessionState& session);

// A mark for ckpt-run. Only application rank 0 leaves any.
void leave_mark(const SessionState& session, CompletionMark::Kind kind);
void leave_mark(const SessionState& session, CompletionMark::Kind kind, const Error& error);
// If a restart would fail, too.
void leave_mark_of(const SessionState& session, const Error& error);

}  // namespace cairn
