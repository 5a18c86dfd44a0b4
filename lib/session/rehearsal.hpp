// Failures that ckpt-run --rehearse plans and ranks carry out: a rank dies where a snapshot() call begins. For each
// there is a file in a directory that all ranks see. The rank removes it before it dies, so that it dies there once,
// however often the job makes this call. Another file says after which call the job ends, if not with the program.
//
// Local.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"

namespace cairn {

struct PlannedDeath {
  std::uint64_t call = 0;  // of snapshot(), from 1 on, in the life of the chain
  Rank rank;               // of the application ranks
  friend bool operator==(const PlannedDeath&, const PlannedDeath&) = default;
};

// Makes the directory, which must not exist. Code::io, with the path.
[[nodiscard]] Status plan_deaths(const std::string& directory, const std::vector<PlannedDeath>& deaths);

// Those of `deaths` that have not happened.
[[nodiscard]] std::vector<PlannedDeath> deaths_left(const std::string& directory,
                                                    const std::vector<PlannedDeath>& deaths);

// Kills this process by SIGKILL if that is planned. An empty directory: nothing is.
void die_if_planned(const std::string& directory, const PlannedDeath& here);

// The job ends with this call of snapshot(), which counts as the calls above. The directory exists. Code::io, with the
// path.
[[nodiscard]] Status plan_last_call(const std::string& directory, std::uint64_t call);
// None: the job ends with the program.
[[nodiscard]] std::optional<std::uint64_t> planned_last_call(const std::string& directory);
// Whether that call is this one. An empty directory: no.
[[nodiscard]] bool is_last_call(const std::string& directory, std::uint64_t call);

// Where the session has ended with the last call, and ckpt-run ends the job. The program must not continue meanwhile.
[[noreturn]] void wait_to_be_ended();

}  // namespace cairn
