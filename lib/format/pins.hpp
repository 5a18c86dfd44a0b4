// Pins: snapshots that somebody wants to keep, in a small file of the global store. A pin counts only together with its
// snapshot: one whose snapshot is not there says nothing. Local: no call communicates.
#pragma once

#include <set>
#include <string>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "format/sealer.hpp"
#include "store/store.hpp"

namespace cairn {

using Pins = std::set<Identity>;

// Inverse pair. Errors: as parse_run_record().
[[nodiscard]] std::string pins_to_json(const Pins& pins, const Sealer& sealer = {});
[[nodiscard]] Result<Pins> parse_pins(const std::string& text, const Sealer& sealer = {});

// Without a file there are none.
[[nodiscard]] Result<Pins> read_pins(const Store& global, const Sealer& sealer);
// Inverse pair. A pin is there before its snapshot may be; pins whose snapshots are gone are dropped. If the file
// cannot be read, it stays as it is, and the error says why.
[[nodiscard]] Status pin(Store& global, const Identity& snapshot, const Sealer& sealer);
[[nodiscard]] Status unpin(Store& global, const Identity& snapshot, const Sealer& sealer);

}  // namespace cairn
