// The functions of a C program that recompute the steps of a lost rank, as those of C++.
#pragma once

#include <cairn/cairn.h>
#include <cairn/lost_part.hpp>

namespace cairn::bind {

// Codes other than CAIRN_OK become exceptions. A null function stays empty.
[[nodiscard]] ComputePart compute_of(cairn_compute_part compute, void* data);
[[nodiscard]] SplitState split_of(cairn_split split, void* data);
[[nodiscard]] MergeState merge_of(cairn_merge merge, void* data);

}  // namespace cairn::bind
