#include "store/posix/posix_mapping.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "store/posix/posix_file.hpp"

namespace cairn::posix {

namespace {

// MADV_POPULATE_WRITE, which C libraries older than Linux 5.14 do not name. A kernel that does not know it
// refuses, and the pages are then touched one by one as they are written.
constexpr int kPopulateWrite = 23;

}  // namespace

Result<std::shared_ptr<Mapping>> Mapping::map(int file, std::uint64_t size_bytes, Access access,
                                              const std::string& path) {
  if (size_bytes == 0) return std::make_shared<Mapping>(MutableBytes{});
  const int protection = access == Access::write ? PROT_READ | PROT_WRITE : PROT_READ;
  void* const at = ::mmap(nullptr, size_bytes, protection, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) return fail(system_error(errno, fmt::format("map {} bytes", size_bytes), path));
  auto mapping = std::make_shared<Mapping>(MutableBytes(static_cast<std::byte*>(at), size_bytes));
  if (access == Access::write) ::madvise(at, size_bytes, kPopulateWrite);
  return mapping;
}

Mapping::~Mapping() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

void WarmMappings::put(FileId id, std::shared_ptr<Mapping> mapping) {
  if (!mapping || mapping->bytes().empty()) return;
  std::list<Warm> unused;  // unmapped after the mutex is released
  const std::lock_guard guard(mutex_);
  if (const auto same = std::ranges::find(warm_, id, &Warm::id); same != warm_.end()) {
    unused.splice(unused.end(), warm_, same);
  }
  warm_.push_back({id, std::move(mapping)});
  while (warm_.size() > limit_) unused.splice(unused.end(), warm_, warm_.begin());
}

std::shared_ptr<Mapping> WarmMappings::share(FileId id, std::uint64_t size_bytes) {
  const std::lock_guard guard(mutex_);
  const auto found = std::ranges::find(warm_, id, &Warm::id);
  if (found == warm_.end() || found->mapping->bytes().size() < size_bytes) return nullptr;
  warm_.splice(warm_.end(), warm_, found);
  return found->mapping;
}

}  // namespace cairn::posix
