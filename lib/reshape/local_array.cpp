#include "reshape/local_array.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace cairn::reshape {
namespace {

constexpr std::size_t kMostRuns = 4096;  // in one call of a reader

// Of one step in each dimension, in bytes; the last one is that of an element.
std::vector<std::uint64_t> strides(const LocalArray& array) {
  const std::size_t dimensions = array.box.dimensions();
  std::vector<std::uint64_t> stride(dimensions + 1, array.element_bytes);
  for (std::size_t d = dimensions; d-- > 0;) stride[d] = stride[d + 1] * array.box.extent[d];
  return stride;
}

}  // namespace

void each_run(const LocalArray& from, const LocalArray& to, const Box& part,
              const std::function<void(std::uint64_t from, std::uint64_t to, std::uint64_t bytes)>& visit) {
  if (part.empty()) return;
  const std::size_t dimensions = part.dimensions();
  const auto from_stride = strides(from);  // [d + 1] of one index of d
  const auto to_stride = strides(to);
  // A run spans the dimensions from `inner` on, all of which but the first are taken whole.
  const auto is_whole = [&](std::size_t d) {
    return part.extent[d] == from.box.extent[d] && part.extent[d] == to.box.extent[d];
  };
  std::size_t inner = dimensions;
  while (inner > 0 && (inner == dimensions || is_whole(inner))) --inner;
  const std::uint64_t run = dimensions == 0 ? from.element_bytes : part.extent[inner] * from_stride[inner + 1];

  std::vector<std::uint64_t> at(dimensions, 0);
  const auto offset_in = [&](const LocalArray& array, const std::vector<std::uint64_t>& stride) {
    std::uint64_t offset = 0;
    for (std::size_t d = 0; d < dimensions; ++d)
      offset += (static_cast<std::uint64_t>(part.first[d] - array.box.first[d]) + at[d]) * stride[d + 1];
    return offset;
  };
  for (;;) {
    visit(offset_in(from, from_stride), offset_in(to, to_stride), run);
    std::size_t d = inner;
    while (d > 0 && at[d - 1] + 1 == part.extent[d - 1]) at[--d] = 0;
    if (d == 0) return;
    ++at[d - 1];
  }
}

Status read_part(const LocalArray& from, const ReadRuns& read, const LocalArray& to, MutableBytes memory,
                 const Box& part) {
  Status status;
  std::vector<Run> runs;
  each_run(from, to, part, [&](std::uint64_t offset, std::uint64_t into, std::uint64_t bytes) {
    if (!status || bytes == 0) return;
    runs.push_back({offset, memory.subspan(into, bytes)});
    if (runs.size() < kMostRuns) return;
    status = read(runs);
    runs.clear();
  });
  return status && !runs.empty() ? read(runs) : status;
}

void write_part(const LocalArray& array, MutableBytes memory, const Box& part, Bytes from) {
  each_run(alone(array, part), array, part, [&](std::uint64_t offset, std::uint64_t into, std::uint64_t bytes) {
    copy_bytes(from.subspan(offset, bytes), memory.subspan(into, bytes));
  });
}

std::optional<Box> first_difference(const LocalArray& array, Bytes memory, const Box& part, Bytes from) {
  std::optional<std::uint64_t> element;  // by its number in `part`
  each_run(alone(array, part), array, part, [&](std::uint64_t done, std::uint64_t offset, std::uint64_t bytes) {
    const Bytes here = memory.subspan(offset, bytes);
    const Bytes there = from.subspan(done, bytes);
    if (!element && std::memcmp(here.data(), there.data(), bytes) != 0) {
      const auto differs = std::ranges::mismatch(here, there).in1;
      element = (done + static_cast<std::uint64_t>(differs - here.begin())) / array.element_bytes;
    }
  });
  if (!element) return std::nullopt;
  Box one = part;
  for (std::size_t d = part.dimensions(); d-- > 0;) {
    one.first[d] += static_cast<std::int64_t>(*element % part.extent[d]);
    one.extent[d] = 1;
    *element /= part.extent[d];
  }
  return one;
}

}  // namespace cairn::reshape
