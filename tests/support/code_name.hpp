// An error's code in words, for what tests say.
#pragma once

#include <string_view>

#include "base/error.hpp"

namespace cairn::test {

inline std::string_view name(Code code) {
  switch (code) {
    case Code::invalid_argument: return "invalid argument";
    case Code::config: return "config";
    case Code::not_found: return "not found";
    case Code::corrupt: return "corrupt";
    case Code::newer_format: return "newer format";
    case Code::untrusted: return "untrusted";
    case Code::no_space: return "no space";
    case Code::io: return "I/O";
    case Code::unrecoverable: return "unrecoverable";
    case Code::mismatch: return "mismatch";
    case Code::taken_over: return "taken over";
    case Code::communication: return "communication";
    case Code::failed_elsewhere: return "failed elsewhere";
  }
  return "unknown";
}

}  // namespace cairn::test
