// The stores of a job that does not run, for a command that changes them.
#pragma once

#include <memory>
#include <vector>

#include "base/error.hpp"
#include "inspect/removal.hpp"
#include "store/store.hpp"
#include "stores.hpp"

namespace ckpt_tool {

// While it lives, a run of the job that begins is refused.
struct LockedStores {
  cairn::WritableStores stores;
  std::vector<std::unique_ptr<cairn::Lock>> locks;  // of the node stores
};

// Code::taken_over: the job runs, or somebody else changes its stores.
[[nodiscard]] cairn::Result<LockedStores> lock_stores(const OpenStores& opened);

// The locks of the stores that are here do not show a run on other hosts. Code::taken_over: heads of it have looked.
[[nodiscard]] cairn::Status check_no_heads(const Target& target, const OpenStores& opened);

}  // namespace ckpt_tool
