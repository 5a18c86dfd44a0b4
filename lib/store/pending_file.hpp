// A file that is written and has no name yet. It is read back first, and then either gets its name or is dropped
// without a trace. Until then an older file keeps that name, so a good file is never given up for one that may be bad.
// Local; reading back is thread-safe, the rest is for one thread.
#pragma once

#include <cstdint>
#include <memory>

#include "store/store.hpp"

namespace cairn {

struct PendingFile {
  std::unique_ptr<Writer> writer;
  std::uint64_t bytes = 0;

  // A reader of what was written; valid while this file lives and is not committed.
  [[nodiscard]] std::unique_ptr<Reader> read_back() const;
  // Makes the file durable and gives it its name.
  [[nodiscard]] Status commit() const { return writer->commit(bytes, true); }
};

}  // namespace cairn
