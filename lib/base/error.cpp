#include "base/error.hpp"

#include <utility>

#include <fmt/format.h>

namespace cairn {

Error Error::in(std::string_view thing) const {
  return Error{code, std::string(thing) + ": " + message, hint, names_file};
}

Error Error::in_file(std::string_view path) const {
  if (names_file) return *this;
  Error named = in(path);
  named.names_file = true;
  return named;
}

std::string Error::text() const { return hint.empty() ? message : message + " (" + hint + ")"; }

tl::unexpected<Error> fail(Code code, std::string message, std::string hint) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(hint)});
}

tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

tl::unexpected<Error> fail_in_file(Code code, std::string_view path, std::string what, std::string hint) {
  return fail(Error{code, std::move(what), std::move(hint)}.in_file(path));
}

tl::unexpected<Error> fail_newer_format(std::string_view what, std::uint64_t format, std::uint64_t newest) {
  return fail(Code::newer_format, fmt::format("{} {} is newer than {}, which this Cairn reads", what, format, newest),
              "use the Cairn that wrote it, or a newer one");
}

std::string_view name(Code code) {
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

std::optional<Code> code_of(std::uint64_t number) {
  if (number > static_cast<std::uint64_t>(Code::failed_elsewhere)) return {};
  return static_cast<Code>(number);
}

}  // namespace cairn
