// A file that is written and has no name yet: it is read back, and then named, or dropped without a trace. What has its
// name already stays until then, so nothing that may be good is given up for what may be bad. Local; reading back is
// thread-safe, the rest is for one thread.
#pragma once

#include <cstdint>
#include <memory>

#include "store/store.hpp"

namespace cairn {

struct PendingFile {
  std::unique_ptr<Writer> writer;
  std::uint64_t bytes = 0;

  // What was written, for as long as this lives and is not committed.
  [[nodiscard]] std::unique_ptr<Reader> read_back() const;
  // Durable, under its name.
  [[nodiscard]] Status commit() const { return writer->commit(bytes, true); }
};

}  // namespace cairn
