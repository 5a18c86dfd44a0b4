#include "locked_stores.hpp"

#include <chrono>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "health_watch.hpp"
#include "store/posix/posix_store.hpp"

namespace ckpt_tool {
namespace {

// For the lock of a process that is just ending.
constexpr std::chrono::milliseconds kPatience{1000};

}  // namespace

cairn::Result<LockedStores> lock_stores(const OpenStores& opened) {
  cairn::PosixOptions options;
  options.lock_patience = kPatience;
  LockedStores locked;
  for (std::uint32_t i = 0; i < opened.node_roots.size(); ++i) {
    auto store = cairn::PosixStore::open(opened.node_roots[i], opened.job, options);
    if (!store) return cairn::fail(store.error());
    auto lock = (*store)->lock();
    if (!lock && lock.error().code == cairn::Code::taken_over)
      return cairn::fail(cairn::Code::taken_over, fmt::format("job {} runs: {}", opened.job, lock.error().message),
                         "wait until it has ended, or end it");
    if (!lock) return cairn::fail(lock.error());
    locked.locks.push_back(std::move(*lock));
    locked.stores.emplace(cairn::StoreId::node(i), std::move(*store));
  }
  if (!opened.stores.global) return locked;
  auto global = cairn::PosixStore::open(opened.global_root, opened.job, options);
  if (!global) return cairn::fail(global.error());
  locked.stores.emplace(cairn::StoreId::global(), std::move(*global));
  return locked;
}

cairn::Status check_no_heads(const Target& target, const OpenStores& opened) {
  if (!opened.stores.global) return {};
  const auto watched = look_for_heads(target, opened);
  if (!watched) return cairn::fail(watched.error());
  if (!watched->now()) return {};
  return cairn::fail(cairn::Code::taken_over,
                     fmt::format("job {} runs on other hosts: {}", opened.job, watch_text(*watched)),
                     "wait until it has ended; if it was killed, wait for a minute");
}

}  // namespace ckpt_tool
