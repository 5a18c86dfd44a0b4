// What fails while a job runs: stores and messages are wrapped for the next run. One thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "support/job.hpp"
#include "torture/model.hpp"
#include "torture/scenario.hpp"

namespace cairn::torture {

// A fault of a life, and whether it has struck.
struct Injected {
  Fault fault;
  std::shared_ptr<std::atomic<bool>> struck = std::make_shared<std::atomic<bool>>(false);
};

// Takes the place of what was injected for the run before.
[[nodiscard]] std::vector<Injected> inject(const Life& life, test::Job& job);
// What they may do to a life.
[[nodiscard]] Circumstances::Faults effect_of(const Life& life);
// What they have done to the stores.
void tell(const std::vector<Injected>& injected, Model& model);

}  // namespace cairn::torture
