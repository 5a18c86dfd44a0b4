// Errors are values inside the library: a function that can fail returns Result<T>. An Error names the
// thing that is wrong (file, rank, node, key) and, where there is one, what would put it right. A Code
// exists only where a caller acts differently on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace cairn {

enum class Code {
  invalid_argument,     // the caller passed an impossible value
  config,               // a configuration file or variable is wrong
  not_found,            // a file, key or snapshot is not there
  corrupt,              // bytes are there, but are not what was written
  newer_format,         // whole, but written by a newer Cairn: keep it, never treat it as damaged or absent
  untrusted,            // whole, but not sealed with this job's key (or sealed, and no key is set): keep it too
  no_space,             // a store is full
  io,                   // a store failed otherwise
  unrecoverable,        // no snapshot can be put together from what is left
  mismatch,             // regions or ranks differ from those of the snapshot
  taken_over,           // another run uses, or has taken over, a store
  communication,        // a peer cannot be reached
  failed_elsewhere,     // another rank failed; its own error says why
  unreadable,           // files that may hold what is missing cannot be read now
  version_unavailable,  // the version that was chosen cannot be restored; others may be
};

struct Error {
  Code code;
  std::string message;
  std::string hint;
  std::string file = {};  // that it is about, where the message names one

  // The same error, with the thing that encloses it named in front: "node 3: block 12 …".
  [[nodiscard]] Error in(std::string_view thing) const;
  // The same, with the name of its file in front, unless it names that file already: "rank000007.shard: block 12 …".
  [[nodiscard]] Error in_file(std::string_view path) const;
  // One line: message, then the hint in parentheses.
  [[nodiscard]] std::string text() const;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

[[nodiscard]] tl::unexpected<Error> fail(Code code, std::string message, std::string hint = {});
[[nodiscard]] tl::unexpected<Error> fail(Error error);
// An error about a file: `what` is wrong with it.
[[nodiscard]] tl::unexpected<Error> fail_in_file(Code code, std::string_view path, std::string what,
                                                 std::string hint = {});
// An error that no user and no file can cause: a defect of Cairn, or a message that was changed on its way.
[[nodiscard]] tl::unexpected<Error> fail_internal(Code code, std::string message);
// `what` is the thing's name, such as "shard format": it is newer than the newest format that this Cairn can read.
[[nodiscard]] tl::unexpected<Error> fail_newer_format(std::string_view what, std::uint64_t format,
                                                      std::uint64_t newest);
// The code with this number, as messages carry it. None: no code has this number, so the message is not from Cairn.
[[nodiscard]] std::optional<Code> code_of(std::uint64_t number);

}  // namespace cairn
