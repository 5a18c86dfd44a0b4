// Reads what a rank says to MPI (format/call_record) from its node's store. The rank may write while this reads.
#pragma once

#include <memory>

#include "base/error.hpp"
#include "format/call_record.hpp"
#include "store/store.hpp"

namespace cairn {

// What comes back is safe to use: every name ends, every index, kind and rank is in range. A file of an older format
// comes back as one of this format, and `format` says of which it was. Errors: not_found,
// newer_format, corrupt, io.
[[nodiscard]] Result<std::unique_ptr<CallFile>> read_call_file(const Store& store, const FileName& name);

// The same of a few KiB of the file: what the rank is in, its newest call, and how many it has made. Everything else in
// `into` stays as it was. Requires: this Cairn wrote the file; another format is an error.
[[nodiscard]] Status read_last_calls(const Store& store, const FileName& name, CallFile& into);

}  // namespace cairn
