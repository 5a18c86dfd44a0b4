// What fails while a job runs: stores and messages are wrapped for the next run. One thread prepares it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>

#include "support/job.hpp"
#include "torture/model.hpp"
#include "torture/scenario.hpp"

namespace cairn::torture {

// Takes the place of what was injected for the run before. `lost`: called, by any thread, when a store has lost all,
// or a version.
using Lost = std::function<void(std::optional<std::uint32_t> host, std::optional<std::uint32_t> version)>;
// What it gives back is to be called, by any thread, when a rank is about to call finalize.
[[nodiscard]] std::function<void()> inject(const Life& life, test::Job& job, Lost lost);
// What they may do to a life.
[[nodiscard]] Circumstances::Faults effect_of(const Life& life);
// Whether nothing is lost in it, and no read fails.
[[nodiscard]] bool all_is_read_in(const Life& life);
// Whether a store may refuse to have something removed in this life, and the life goes on.
[[nodiscard]] bool may_refuse_removal(const Life& life, std::uint32_t host);
// Stores of which one read fails, where nothing else does.
[[nodiscard]] std::set<std::optional<std::uint32_t>> shaky_in(const Life& life);

}  // namespace cairn::torture
