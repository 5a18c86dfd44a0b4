#include "store/memory/memory_state.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>

#include <fmt/format.h>

namespace cairn {

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.find('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

std::uint64_t MemoryState::retired_bytes() const {
  std::uint64_t total = 0;
  for (const auto& [owner, file] : retired) total += file->bytes.size();
  return total;
}

void MemoryState::forget_retired() {
  used_bytes -= retired_bytes();
  retired.clear();
}

Status MemoryState::take(std::uint64_t extra_bytes, const std::string& path) {
  if (extra_bytes > capacity_bytes - used_bytes) forget_retired();
  return take_free(extra_bytes, path);
}

Status MemoryState::take_free(std::uint64_t extra_bytes, const std::string& path) {
  const std::uint64_t free = capacity_bytes - used_bytes;
  if (extra_bytes > free) {
    return fail_in_file(Code::no_space, path,
                        fmt::format("the store is full; {} bytes are needed and {} are free", extra_bytes, free),
                        "make room there, protect less, or keep fewer snapshots");
  }
  used_bytes += extra_bytes;
  return {};
}

MemoryFilePtr MemoryState::claim(const std::string& owner, std::uint64_t size_bytes) {
  const auto key = [&](const MemoryFilePtr& file) {
    const std::uint64_t size = file->bytes.size();
    const bool small = size < size_bytes;
    return std::tuple(small, small ? ~size : size);
  };
  const auto [begin, end] = retired.equal_range(owner);
  auto best = end;
  for (auto one = begin; one != end; ++one) {
    if (one->second->readers.load() != 0) continue;
    if (best == end || key(one->second) < key(best->second)) best = one;
  }
  if (best == end) return nullptr;
  auto file = std::move(best->second);
  retired.erase(best);
  return file;
}

MemoryFilePtr MemoryState::take_out(const std::string& path) {
  const auto node = files.extract(path);
  return node.empty() ? nullptr : std::move(node.mapped());
}

Result<MemoryFilePtr> MemoryState::find(const FileName& name) const {
  const auto found = files.find(name.path);
  if (found == files.end()) return fail_in_file(Code::not_found, path_of(name.path), "does not exist");
  return found->second;
}

}  // namespace cairn
