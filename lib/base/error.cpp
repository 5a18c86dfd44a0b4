#include "base/error.hpp"

#include <utility>

#include <fmt/format.h>

namespace cairn {

Error Error::in(std::string_view thing) const { return Error{code, std::string(thing) + ": " + message, hint, file}; }

Error Error::in_file(std::string_view path) const {
  if (!file.empty()) return *this;
  Error named = in(path);
  named.file = path;
  return named;
}

std::string Error::text() const { return hint.empty() ? message : message + " (" + hint + ")"; }

tl::unexpected<Error> fail(Code code, std::string message, std::string hint) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(hint), {}});
}

tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

tl::unexpected<Error> fail_in_file(Code code, std::string_view path, std::string what, std::string hint) {
  return fail(Error{code, std::move(what), std::move(hint), {}}.in_file(path));
}

tl::unexpected<Error> fail_internal(Code code, std::string message) {
  return fail(code, std::move(message),
              "this is a defect of Cairn, or of the memory or network of a node: please report it, with the log");
}

tl::unexpected<Error> fail_newer_format(std::string_view what, std::uint64_t format, std::uint64_t newest) {
  return fail(Code::newer_format,
              fmt::format("{} {} is newer than {}, the newest that this Cairn reads", what, format, newest),
              "use the version of Cairn that wrote it, or a newer one");
}

std::optional<Code> code_of(std::uint64_t number) {
  if (number > static_cast<std::uint64_t>(Code::version_unavailable)) return {};
  return static_cast<Code>(number);
}

}  // namespace cairn
