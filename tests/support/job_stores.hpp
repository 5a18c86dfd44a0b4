// The stores of a Job, for what looks at them from outside, as ckpt-tool does.
#pragma once

#include <cstdint>
#include <memory>

#include "inspect/survey.hpp"
#include "support/job.hpp"

namespace cairn::test {

// A job of three nodes whose ten steps leave 10, 9, 8, 7 at L1; 9 at L2; 8 at L3; 9, 6, 3 at L4.
inline constexpr std::uint32_t kTenSteps = 10;
inline constexpr const char* kTenStepsSettings = R"([storage]
keep_local = 4
keep_global = 3
[levels]
l1 = every 1
l2 = every 3
l3 = every 4
l4 = every 3
[erasure]
group = 3
parity = 1
[restart]
at_end = continue
)";

// Does not own it.
[[nodiscard]] inline std::shared_ptr<Store> seen(Store& store) {
  return {&store, [](Store*) {}};
}

[[nodiscard]] inline JobStores stores_of(Job& job) {
  JobStores stores;
  for (std::uint32_t node = 0; node < job.nodes(); ++node) stores.nodes.push_back(seen(job.node_store(node)));
  stores.global = seen(job.global_store());
  return stores;
}

}  // namespace cairn::test
