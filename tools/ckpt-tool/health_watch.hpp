// Whether heads look after a job: without them, no verdict means nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "commands.hpp"
#include "format/watch_file.hpp"

namespace ckpt_tool {

struct Watched {
  std::optional<cairn::WatchFile> last;  // none: no run has told
  std::uint64_t age = 0;                 // seconds since its last look
  bool off = false;                      // the configuration says that nobody looks
  [[nodiscard]] bool now() const { return last && age < cairn::WatchFile::kCountsForSeconds; }
};

// A file of the store that cannot be read says nothing, and is complained about.
[[nodiscard]] cairn::Result<Watched> look_for_heads(const Target& target, const OpenStores& opened);
[[nodiscard]] std::string watch_text(const Watched& watched);
[[nodiscard]] Json watch_json(const Watched& watched);

}  // namespace ckpt_tool
