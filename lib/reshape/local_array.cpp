#include "reshape/local_array.hpp"

#include <algorithm>
#include <cstring>

namespace cairn::reshape {
namespace {

constexpr std::uint64_t kClose = 16 * kKiB;  // runs that are not further apart are read at once
constexpr std::uint64_t kMostAtOnce = kMiB;  // of them

// Several runs that are read at once: where they lie in the file, and where their bytes go.
struct Gather {
  struct Run {
    std::uint64_t offset;
    MutableBytes into;
  };
  const ReadBytes& read;
  Buffer scratch = {};
  std::vector<Run> runs = {};

  [[nodiscard]] bool takes(std::uint64_t offset, std::uint64_t bytes) const {
    if (runs.empty()) return true;
    const std::uint64_t end = runs.back().offset + runs.back().into.size();
    return offset - end <= kClose && offset + bytes - runs.front().offset <= kMostAtOnce;
  }

  Status flush() {
    if (runs.empty()) return {};
    const std::uint64_t begin = runs.front().offset;
    if (runs.size() == 1) {
      if (auto status = read(begin, runs.front().into); !status) return status;
    } else {
      scratch.resize(runs.back().offset + runs.back().into.size() - begin);
      if (auto status = read(begin, scratch); !status) return status;
      for (const Run& run : runs) copy_bytes(Bytes(scratch).subspan(run.offset - begin, run.into.size()), run.into);
    }
    runs.clear();
    return {};
  }
};

}  // namespace

void each_run(const LocalArray& array, const Box& part,
              const std::function<void(std::uint64_t offset, std::uint64_t bytes)>& visit) {
  if (part.empty()) return;
  const std::size_t dimensions = part.dimensions();
  std::vector<std::uint64_t> stride(dimensions + 1, array.element_bytes);  // in bytes; stride[d + 1] of one index of d
  for (std::size_t d = dimensions; d-- > 0;) stride[d] = stride[d + 1] * array.box.extent[d];
  // A run spans the dimensions from `inner` on, all of which but the first are taken whole.
  std::size_t inner = dimensions;
  while (inner > 0 && (inner == dimensions || part.extent[inner] == array.box.extent[inner])) --inner;
  const std::uint64_t run = dimensions == 0 ? array.element_bytes : part.extent[inner] * stride[inner + 1];

  std::vector<std::uint64_t> at(dimensions, 0);
  for (;;) {
    std::uint64_t offset = 0;
    for (std::size_t d = 0; d < dimensions; ++d)
      offset += (static_cast<std::uint64_t>(part.first[d] - array.box.first[d]) + at[d]) * stride[d + 1];
    visit(offset, run);
    std::size_t d = inner;
    while (d > 0 && at[d - 1] + 1 == part.extent[d - 1]) at[--d] = 0;
    if (d == 0) return;
    ++at[d - 1];
  }
}

Status read_part(const LocalArray& array, const ReadBytes& read, const Box& part, MutableBytes into) {
  Gather gather{read};
  Status status;
  std::uint64_t done = 0;
  each_run(array, part, [&](std::uint64_t offset, std::uint64_t bytes) {
    if (status && !gather.takes(offset, bytes)) status = gather.flush();
    if (status) gather.runs.push_back({offset, into.subspan(done, bytes)});
    done += bytes;
  });
  return status ? gather.flush() : status;
}

void write_part(const LocalArray& array, MutableBytes memory, const Box& part, Bytes from) {
  std::uint64_t done = 0;
  each_run(array, part, [&](std::uint64_t offset, std::uint64_t bytes) {
    copy_bytes(from.subspan(done, bytes), memory.subspan(offset, bytes));
    done += bytes;
  });
}

std::optional<Box> first_difference(const LocalArray& array, Bytes memory, const Box& part, Bytes from) {
  std::optional<std::uint64_t> element;  // by its number in `part`
  std::uint64_t done = 0;
  each_run(array, part, [&](std::uint64_t offset, std::uint64_t bytes) {
    const Bytes here = memory.subspan(offset, bytes);
    const Bytes there = from.subspan(done, bytes);
    if (!element && std::memcmp(here.data(), there.data(), bytes) != 0) {
      const auto differs = std::ranges::mismatch(here, there).in1;
      element = (done + static_cast<std::uint64_t>(differs - here.begin())) / array.element_bytes;
    }
    done += bytes;
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
