#include "store/posix/posix_warm.hpp"

#include <algorithm>
#include <utility>

namespace cairn::posix {

void WarmFiles::put(WarmFile file) {
  std::list<WarmFile> unused;  // unmapped after the mutex is released
  const std::lock_guard guard(mutex_);
  files_.push_back(std::move(file));
  while (files_.size() > limit_) unused.splice(unused.end(), files_, files_.begin());
}

std::optional<WarmFile> WarmFiles::take(FileId id) {
  return take_if([id](const WarmFile& file) { return file.id == id; });
}

std::optional<WarmFile> WarmFiles::take_if(const std::function<bool(const WarmFile&)>& fits) {
  const std::lock_guard guard(mutex_);
  const auto found = std::ranges::find_if(files_, fits);
  if (found == files_.end()) return std::nullopt;
  WarmFile file = std::move(*found);
  files_.erase(found);
  return file;
}

bool WarmFiles::has(FileId id) const {
  const std::lock_guard guard(mutex_);
  return std::ranges::find(files_, id, &WarmFile::id) != files_.end();
}

}  // namespace cairn::posix
