// Checks of what a function requires, and of what a class keeps true. A check that fails is a mistake in Cairn, after
// which nothing can be trusted: it prints where it stands, and ends the process. What the application, a file or
// another process may get wrong is an Error.
#pragma once

#include <cstdio>
#include <cstdlib>

#ifndef __has_feature
#define __has_feature(x) 0
#endif

namespace cairn {

// Whether check_slow() checks: in Debug, and under sanitizers.
#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kChecksSlowly = true;
#else
inline constexpr bool kChecksSlowly = false;
#endif

// Where a call stands, as a default argument. Clang 14 has no std::source_location.
struct CodePlace {
  const char* file;
  int line;
  const char* function;
  static constexpr CodePlace here(const char* file = __builtin_FILE(), int line = __builtin_LINE(),
                                  const char* function = __builtin_FUNCTION()) {
    return {file, line, function};
  }
};

[[noreturn]] inline void end_for_failed_check(const CodePlace& where) {
  (void)std::fprintf(stderr, "cairn: %s:%d: a check failed in %s. This is a bug in Cairn. Please report it\n",
                     where.file, where.line, where.function);
  std::abort();
}

// Always on: for what costs no more than a comparison.
inline void check(bool holds, const CodePlace& where = CodePlace::here()) {
  if (!holds) [[unlikely]]
    end_for_failed_check(where);
}

// `holds()` is not called where kChecksSlowly is false.
template <class Holds>
void check_slow(const Holds& holds, const CodePlace& where = CodePlace::here()) {
  if constexpr (kChecksSlowly) check(holds(), where);
}

}  // namespace cairn
