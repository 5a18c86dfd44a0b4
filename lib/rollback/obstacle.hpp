// What the application does that local rollback does not replay ([recovery] rollback = lost), and what else makes all
// ranks roll back.
#pragma once

#include <cstdint>
#include <string>

namespace cairn::rollback {

// How long it does: until a snapshot that is taken later is safe, or for good.
enum class Until { next_snapshot, end };

// Why a process cannot continue where a failure has struck it.
struct Obstacle {
  // Whether it knows why all ranks roll back, or only what it has seen of that.
  enum class Weight : std::uint32_t { none, seen, known };
  std::string text;
  Weight weight = Weight::none;
};

}  // namespace cairn::rollback
