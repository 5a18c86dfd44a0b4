#include "engine/unreadable.hpp"

#include <fmt/format.h>

namespace cairn {

Error refusal_of(const Store& store, const Unreadable& newer) {
  return {Code::newer_format, fmt::format("{}: {}: {}", store.where(), newer.file.path, newer.error.message),
          "start the Cairn that wrote it, or a newer one; [restart] mode = fresh starts anew and leaves it there"};
}

}  // namespace cairn
