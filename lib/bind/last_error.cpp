#include "bind/last_error.hpp"

#include <utility>

#include "base/log.hpp"

namespace cairn::bind {
namespace {

// Errors of C calls are fetched later by the thread that made them.
std::string& text_of_this_thread() {
  thread_local std::string text;
  return text;
}

}  // namespace

int fail(int code, std::string text) {
  text_of_this_thread() = std::move(text);
  return code;
}

int refuse(int code, std::string text) {
  Log(LogLevel::error).error("{}", text);
  return fail(code, std::move(text));
}

const std::string& last_error() { return text_of_this_thread(); }

}  // namespace cairn::bind
