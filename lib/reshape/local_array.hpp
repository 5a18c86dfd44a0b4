// The part of a global array that one rank has, in its memory or in its old file: a box of elements in row-major order.
// Copies smaller boxes out and in. Pure but for the reader.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "format/shard_file.hpp"
#include "reshape/box.hpp"

namespace cairn::reshape {

struct LocalArray {
  Box box;  // in the global array, with all ghosts
  std::uint64_t element_bytes = 1;

  [[nodiscard]] std::uint64_t size_bytes() const { return box.elements() * element_bytes; }
};

// `part` of it alone: its bytes lie end to end.
[[nodiscard]] inline LocalArray alone(const LocalArray& array, const Box& part) { return {part, array.element_bytes}; }

// Bytes of an array, and where they go.
using Run = ShardFile::Part;
// Fills all runs. They are in rising order, do not overlap, and none is empty. A reader that checks whole blocks checks
// each once in a call.
using ReadRuns = std::function<Status(std::span<const Run> runs)>;

// Calls `visit` for each run of bytes of `part` that is contiguous in both arrays, in rising order.
// Requires: both arrays contain `part`, and have elements of one size.
void each_run(const LocalArray& from, const LocalArray& to, const Box& part,
              const std::function<void(std::uint64_t from, std::uint64_t to, std::uint64_t bytes)>& visit);

// Copies `part` of an array in a file to where it belongs in the memory of another. Requires: as above.
[[nodiscard]] Status read_part(const LocalArray& from, const ReadRuns& read, const LocalArray& to, MutableBytes memory,
                               const Box& part);
// Copies `part` into the array's memory. Requires: as above; `from` is as long as the part.
void write_part(const LocalArray& array, MutableBytes memory, const Box& part, Bytes from);
// The first element of `part` whose bytes in memory are others than in `from`. None: all are equal.
[[nodiscard]] std::optional<Box> first_difference(const LocalArray& array, Bytes memory, const Box& part, Bytes from);

}  // namespace cairn::reshape
