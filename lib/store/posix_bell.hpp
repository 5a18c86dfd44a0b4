// The bell of a PosixStore: two counters in a mapped file, and the kernel's futex on each, so that a waiting
// process sleeps and is woken across process borders at the price of one system call.
#pragma once

#include <memory>
#include <string>

#include "store/posix_file.hpp"
#include "store/store.hpp"

namespace cairn::posix {

// In the job's directory `job`. Only processes of one host hear each other.
[[nodiscard]] Result<std::unique_ptr<Bell>> open_bell(int job, const std::string& path);

}  // namespace cairn::posix
