// What an application has passed to protect(), and what the region is by that. Pure, but that containers are asked how
// large they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <cairn/session_base.hpp>

#include "base/error.hpp"
#include "format/region.hpp"

namespace cairn {

// The application's memory, and no object, file or directory.
[[nodiscard]] bool is_memory(const detail::RegionAccess& access);
// Whether a restore may give it another size, in its first dimension.
[[nodiscard]] bool is_resizable(const detail::RegionAccess& access);
// Whether it has the functions or the path that it needs.
[[nodiscard]] bool is_complete(const detail::RegionAccess& access);
// Memory that an address, an element's type and a number of elements describe.
[[nodiscard]] bool is_plain(const detail::RegionAccess& access);

// In one step of the first dimension. Requires: there is one.
[[nodiscard]] std::uint64_t row_elements(const std::vector<std::uint64_t>& shape);
// The region as it is now. A scalar or an array has the shape that was passed, and a container the extent of this
// moment. Objects and files have no bytes yet. Takes from `access` what it puts there.
[[nodiscard]] RegionInfo info_of(const std::string& name, detail::RegionAccess& access);
// Refuses what such a region cannot be to the whole job.
[[nodiscard]] Status check_kind(const RegionInfo& region, const detail::AnyKind& kind);

}  // namespace cairn
