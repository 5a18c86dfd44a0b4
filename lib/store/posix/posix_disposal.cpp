#include "store/posix/posix_disposal.hpp"

#include <system_error>
#include <utility>

namespace cairn::posix {

Status Disposal::begin(std::function<Status()> remove) {
  const std::lock_guard guard(mutex_);
  if (thread_.joinable()) thread_.join();
  Status before = std::exchange(ended_, {});
  try {
    thread_ = std::thread([this, remove] { ended_ = remove(); });
  } catch (const std::system_error&) {
    ended_ = remove();
  }
  return before;
}

void Disposal::wait() {
  const std::lock_guard guard(mutex_);
  if (thread_.joinable()) thread_.join();
}

}  // namespace cairn::posix
