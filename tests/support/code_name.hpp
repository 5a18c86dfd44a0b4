// An error's code and an exception's kind in words, for what tests say.
#pragma once

#include <string_view>

#include <cairn/error.hpp>

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
    case Code::unreadable: return "unreadable";
    case Code::version_unavailable: return "version unavailable";
    case Code::mismatch: return "mismatch";
    case Code::taken_over: return "taken over";
    case Code::communication: return "communication";
    case Code::failed_elsewhere: return "failed elsewhere";
  }
  return "unknown";
}

inline std::string_view name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage: return "usage";
    case ErrorKind::config: return "config";
    case ErrorKind::storage: return "storage";
    case ErrorKind::corrupt: return "corrupt";
    case ErrorKind::unrecoverable: return "unrecoverable";
    case ErrorKind::mismatch: return "mismatch";
    case ErrorKind::taken_over: return "taken over";
    case ErrorKind::communication: return "communication";
    case ErrorKind::rollback: return "rollback";
  }
  return "unknown";
}

}  // namespace cairn::test
