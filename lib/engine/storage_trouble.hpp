// Which errors of storage are news. A store that is full refuses every snapshot, and one line for each hides all
// others: the first is news, and then the first snapshot that reaches its level again. Of one head. Local. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/error.hpp"
#include "base/ids.hpp"

namespace cairn {

class StorageTrouble {
 public:
  // A snapshot did not reach the level. True: the one before it did, or had another kind of error.
  [[nodiscard]] bool note_failure(LevelId level, Code code) {
    Standing& standing = standing_[level];
    if (standing.code == code) return ++standing.repeated, false;
    standing = {code, 0};
    return true;
  }
  // A snapshot has reached the level. How many errors before it were no news.
  [[nodiscard]] std::uint64_t note_success(LevelId level) {
    const std::uint64_t repeated = standing_[level].repeated;
    standing_[level] = {};
    return repeated;
  }

 private:
  struct Standing {
    std::optional<Code> code = {};
    std::uint64_t repeated = 0;
  };

  std::map<LevelId, Standing> standing_;
};

}  // namespace cairn
