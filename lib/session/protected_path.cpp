#include "session/protected_path.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "level/strike.hpp"

namespace cairn {
namespace {

// Heads would look for another source of the shard.
Status of_own_file(Status status) {
  if (status || !is_of_source(status.error().code)) return status;
  Error error = std::move(status.error());
  error.code = Code::failed_elsewhere;
  return fail(std::move(error));
}

}  // namespace

std::string absolute_path(const std::string& path) {
  std::error_code none;
  const auto whole = std::filesystem::absolute(path, none);
  return none ? path : whole.lexically_normal().string();
}

Status ProtectedPath::start(std::uint64_t size_bytes, const RegionInfo* stored) {
  forget();
  size_ = size_bytes;
  prepared_ = true;
  return of_own_file(begin(size_bytes, stored));
}

Status ProtectedPath::prepare(const ShardFile& shard, const PlacedRegion& region) {
  if (auto begun = start(region.info.size_bytes(), &region.info); !begun) return begun;
  const auto added = read_in_blocks(shard, region, [&](Bytes piece) { return of_own_file(add(piece)); });
  if (!added) return added;
  return of_own_file(finish());
}

MutableBytes ProtectedPath::use_memory(std::uint64_t size_bytes) {
  memory_.resize(size_bytes);
  size_ = size_bytes;
  return memory_;
}

Status ProtectedPath::prepare_from_memory() {
  const Buffer memory = std::move(memory_);
  return start(memory.size(), nullptr).and_then([&] { return of_own_file(add(memory)); }).and_then([&] {
    return of_own_file(finish());
  });
}

Status ProtectedPath::put_back() {
  if (!std::exchange(prepared_, false)) return {};
  Status done = of_own_file(apply());
  forget();
  return done;
}

void ProtectedPath::forget() {
  prepared_ = false;
  drop();
  Buffer().swap(memory_);
}

}  // namespace cairn
