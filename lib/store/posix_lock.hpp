// The lock of a PosixStore: an flock on the file lock, which holds the number of the process that has it.
#pragma once

#include <chrono>
#include <memory>

#include "store/posix_writer.hpp"
#include "store/store.hpp"

namespace cairn::posix {

// Tries for `patience`, then refuses with Code::taken_over. While it lives, home->locked is true.
[[nodiscard]] Result<std::unique_ptr<Lock>> take_lock(const std::shared_ptr<Home>& home,
                                                      std::chrono::milliseconds patience);

}  // namespace cairn::posix
