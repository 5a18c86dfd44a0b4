#include "recover/unreadable.hpp"

#include <fmt/format.h>

#include "store/names.hpp"

namespace cairn {

Unreadable unreadable_mark(const Error& error) { return {names::chain_mark(), {}, {}, {}, error}; }

Error refusal_of(const Store& store, const Unreadable& what) {
  const bool newer = what.error.code == Code::newer_format;
  const std::string hint =
      newer ? "start the job with the version of Cairn that wrote it, or a newer one" : what.error.hint;
  return {what.error.code, fmt::format("{}: {}", store.where(), what.error.in_file(what.file.path).message),
          hint +
              "; to give up all snapshots, start once with CAIRN_RESTART_MODE=fresh ([restart] mode = fresh), which "
              "leaves it there"};
}

std::string cure_of_loss(bool may_be_whole) {
  return fmt::format(
      "make the stores of the lost nodes readable again; to give up all snapshots, start once with "
      "CAIRN_RESTART_MODE=fresh{}",
      may_be_whole ? "" : ", or with ckpt-run --fresh-if-unrecoverable");
}

}  // namespace cairn
