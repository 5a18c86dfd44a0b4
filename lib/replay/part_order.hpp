// What processes tell each other that recompute the steps of a lost rank together, each of them a part: what the part
// has to do, and what has become of it. A step is what an application does from one snapshot() call to the next. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "replay/number.hpp"

namespace cairn::replay {

// The steps of a lost rank that are to be recomputed.
struct LostSteps {
  std::uint32_t rank = 0;               // the lost one
  std::uint32_t ranks = 0;              // of the application
  std::uint64_t begin = 0;              // the snapshot() call at which the restored snapshot was taken
  std::uint64_t end = 0;                // the one after the last step
  std::map<Number, Buffer> messages{};  // that the lost rank received in these steps, as it numbered them
};

struct PartOrder {
  LostSteps steps;
  std::uint32_t part = 0;
  std::vector<std::uint32_t> members;  // by part: who computes it
  Buffer state;                        // at `begin`
};

[[nodiscard]] Buffer encode(const PartOrder& order);
// invalid_argument: these are no bytes of encode().
[[nodiscard]] Result<PartOrder> decode_part_order(Bytes bytes);

struct PartResult {
  Buffer state;                   // at the end
  std::map<Number, Buffer> sent;  // what the lost rank sent in these steps
  std::set<Number> taken;         // the messages that the part has received
};

[[nodiscard]] Buffer encode(const PartResult& result);
// invalid_argument: these are no bytes of encode().
[[nodiscard]] Result<PartResult> decode_part_result(Bytes bytes);

}  // namespace cairn::replay
