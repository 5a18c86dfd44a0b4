#include "comm/idler.hpp"

#include <utility>

namespace cairn {

void Idler::set_work(std::function<bool()> work) {
  std::unique_lock lock(mutex_);
  const auto self = std::this_thread::get_id();
  work_ended_.wait(lock, [&] { return runner_ == std::thread::id{} || runner_ == self; });
  work_ = work ? std::make_shared<const Work>(std::move(work)) : nullptr;
}

bool Idler::run_work() {
  std::shared_ptr<const Work> work;
  {
    const std::lock_guard lock(mutex_);
    if (!work_ || runner_ != std::thread::id{}) return false;
    // A copy, because the function may replace itself.
    work = work_;
    runner_ = std::this_thread::get_id();
  }
  const bool progress = (*work)();
  {
    const std::lock_guard lock(mutex_);
    runner_ = std::thread::id{};
  }
  work_ended_.notify_all();
  return progress;
}

std::optional<Backoff::Duration> Idler::turn(bool progress) {
  if (run_work()) progress = true;
  const std::lock_guard lock(mutex_);
  if (progress) {
    backoff_.reset();
    return std::nullopt;
  }
  return backoff_.next();
}

void Idler::reset() {
  const std::lock_guard lock(mutex_);
  backoff_.reset();
}

}  // namespace cairn
