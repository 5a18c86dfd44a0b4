// The application's functions that recompute the steps of a lost rank in parts, with their exceptions as errors.
#pragma once

#include <type_traits>
#include <utility>

#include <cairn/error.hpp>
#include <cairn/lost_part.hpp>

#include "base/error.hpp"
#include "replay/helper_team.hpp"

namespace cairn {

[[nodiscard]] replay::HelperTeam::Compute computer_of(ComputePart compute);
[[nodiscard]] replay::HelperTeam::Split splitter_of(SplitState split);

// Of a call with a part. Throws what its function is to get.
template <class T>
T value_or_stop(Result<T> result) {
  if (result) {
    if constexpr (std::is_void_v<T>)
      return;
    else
      return std::move(*result);
  }
  const bool stops = result.error().code == Code::communication;
  throw Exception(stops ? ErrorKind::rollback : ErrorKind::usage, result.error().text());
}

}  // namespace cairn
