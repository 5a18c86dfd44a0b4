// Checks of what a function requires, and of what a class keeps true. A check that fails is a mistake in Cairn, after
// which nothing can be trusted: it prints where it stands, and ends the process. What the application, a file or
// another process may get wrong is an Error.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <source_location>

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

[[noreturn]] inline void end_for_failed_check(const std::source_location& where) {
  (void)std::fprintf(stderr, "cairn: %s:%u: a check failed in %s. This is a bug in Cairn. Please report it\n",
                     where.file_name(), static_cast<unsigned>(where.line()), where.function_name());
  std::abort();
}

// Always on: for what costs no more than a comparison.
inline void check(bool holds, const std::source_location& where = std::source_location::current()) {
  if (!holds) [[unlikely]]
    end_for_failed_check(where);
}

// `holds()` is not called where kChecksSlowly is false.
template <class Holds>
void check_slow(const Holds& holds, const std::source_location& where = std::source_location::current()) {
  if constexpr (kChecksSlowly) check(holds(), where);
}

}  // namespace cairn
