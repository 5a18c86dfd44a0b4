// What delete and prune print.
#pragma once

#include <string>

#include "commands.hpp"
#include "inspect/removal.hpp"

namespace ckpt_tool {

// "would remove version 40 (incarnation 1, run …): 14 files, 1.2 MiB in 5 stores"
[[nodiscard]] std::string removal_text(const cairn::Removal& removal, bool done);
// The same of all, which snapshots stay, and what the user should know.
void print_removals(const RemovalRequest& request, const OpenStores& opened, const cairn::RemovalPlan& plan,
                    bool all_nodes);
void print_removals_json(const RemovalRequest& request, const OpenStores& opened, const cairn::RemovalPlan& plan,
                         bool all_nodes);

}  // namespace ckpt_tool
