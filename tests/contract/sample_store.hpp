// What tests of stores share: a file of a job "heat", and its pool of files to be used again.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "store/store.hpp"

namespace cairn::test {

inline const FileName kShard{"v1/rank0"};

// The names of the files in the pool.
inline std::vector<std::string> pool_of(const std::string& root) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(root + "/heat/recycle")) {
    names.push_back(entry.path().filename());
  }
  return names;
}

}  // namespace cairn::test
