// Settings of jobs whose snapshots reach L1 and L2 each time, and L4 every second time.
#pragma once

#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace cairn::test {

// Text of an INI file. Storage errors throw; the chain goes on after the end.
inline std::string branch_settings(std::uint32_t keep_local, std::uint32_t keep_global) {
  return fmt::format("[job]\non_storage_error = throw\n[storage]\nkeep_local = {}\nkeep_global = {}\n", keep_local,
                     keep_global) +
         "[levels]\nl1 = every 1\nl2 = every 1\nl3 = off\nl4 = every 2\n[restart]\nat_end = continue\n";
}

}  // namespace cairn::test
