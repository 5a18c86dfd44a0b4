// The part of a global array that one rank has, in its memory or in its old file: a box of elements in row-major order.
// Copies smaller boxes out and in; their bytes then lie end to end, in row-major order too. Pure but for the reader.
#pragma once

#include <cstdint>
#include <functional>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "reshape/box.hpp"

namespace cairn::reshape {

struct LocalArray {
  Box box;  // in the global array, with all ghosts
  std::uint64_t element_bytes = 1;

  [[nodiscard]] std::uint64_t size_bytes() const { return box.elements() * element_bytes; }
};

// Fills `into` with the array's bytes from `offset` on.
using ReadBytes = std::function<Status(std::uint64_t offset, MutableBytes into)>;

// Calls `visit` for each run of bytes of `part` that is contiguous in the array, in rising order.
// Requires: the array contains `part`.
void each_run(const LocalArray& array, const Box& part,
              const std::function<void(std::uint64_t offset, std::uint64_t bytes)>& visit);

// Copies `part` out of a file. Runs that lie close together are read at once, because a reader checks whole blocks.
// Requires: as above; `into` is as long as the part.
[[nodiscard]] Status read_part(const LocalArray& array, const ReadBytes& read, const Box& part, MutableBytes into);
// Copies `part` into the array's memory. Requires: as above; `from` is as long as the part.
void write_part(const LocalArray& array, MutableBytes memory, const Box& part, Bytes from);
// The first element of `part` whose bytes in memory are others than in `from`. None: all are equal.
[[nodiscard]] std::optional<Box> first_difference(const LocalArray& array, Bytes memory, const Box& part, Bytes from);

}  // namespace cairn::reshape
