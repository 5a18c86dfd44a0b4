// What /proc says of a process on this host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/process_state.hpp"
#include "hang/hang.hpp"

namespace ckpt_tool {

[[nodiscard]] std::string this_host();
// Nanoseconds of the monotonic clock, as the records of calls have.
[[nodiscard]] std::int64_t monotonic_now();

struct ProcessSample {
  cairn::ProcessState process;
  double started_before_now = 0;  // seconds
};
// None: there is no such process any more.
[[nodiscard]] std::optional<ProcessSample> sample_process(std::int32_t process);

// From two looks, the first of which may be missing. `opened`: when the process opened its file, on the monotonic
// clock; one that has started later is another with its number.
[[nodiscard]] cairn::hang::ProcessFacts facts_of(const std::optional<ProcessSample>& first,
                                                 const std::optional<ProcessSample>& second, std::int64_t opened,
                                                 std::int64_t now);

[[nodiscard]] bool has_gdb();
// The stack of its first thread, as gdb prints it; empty: gdb may not look, or took too long.
[[nodiscard]] std::string stack_of(std::int32_t process);

}  // namespace ckpt_tool
