#include "bind/last_error.hpp"

#include <utility>

#include "base/log.hpp"

namespace cairn::bind {
namespace {

struct Last {
  int code = 0;
  std::string text;
};

// Errors of C calls are fetched later by the thread that made them.
Last& last_of_this_thread() {
  thread_local Last last;
  return last;
}

}  // namespace

int fail(int code, std::string text) {
  last_of_this_thread() = {code, std::move(text)};
  return code;
}

int refuse(int code, std::string text) {
  Log(LogLevel::error).error("{}", text);
  return fail(code, std::move(text));
}

const std::string& last_error() { return last_of_this_thread().text; }
int last_code() { return last_of_this_thread().code; }

}  // namespace cairn::bind
