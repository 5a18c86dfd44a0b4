// A rank's regions for tests of the container and of what is made from it: a few types and shapes, an empty one,
// a scalar, and a part of a global array. Bytes follow from the rank, so that two ranks never look alike.
#pragma once

#include <cstring>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "format/shard.hpp"
#include "store/names.hpp"
#include "support/write_shard.hpp"

namespace cairn::test {

inline constexpr Identity kSampleIdentity{{3}, {42}, {0x0123456789abcdefULL}};
inline constexpr std::uint64_t kSampleSafePoint = 77;

class SampleRegions {
 public:
  SampleRegions() = default;
  // "plate" float64[rows + rank][4], "step" int32, "nothing" uint8[0], "particles" opaque, "field" float32 of a
  // global array.
  SampleRegions(Rank rank, std::uint64_t rows) {
    const std::uint64_t mine = rows + rank.value;
    add({"plate", ElementType::float64, 8, "", {mine, 4}, {}, {}}, rank.value);
    add({"step", ElementType::int32, 4, "", {}, {}, {}}, rank.value + 1);
    add({"nothing", ElementType::uint8, 1, "", {0}, {}, {}}, 0);
    add({"particles", ElementType::opaque, 24, "Particle", {5}, {}, {}}, rank.value + 2);
    add({"field", ElementType::float32, 4, "", {2, 3}, {8, 3}, {2 * (rank.value % 4), 0}}, rank.value + 3);
  }

  // Fills a region with small whole numbers of its type, or with bytes; never NaN.
  void add(RegionInfo info, std::uint64_t seed) {
    Buffer& bytes = bytes_.emplace_back(info.size_bytes());
    for (std::uint64_t i = 0; i < info.elements(); ++i) fill(info, bytes, i, seed);
    regions_.push_back({std::move(info), bytes});
  }
  [[nodiscard]] const std::vector<RegionData>& all() const { return regions_; }

 private:
  template <class T>
  static void put(Buffer& bytes, std::uint64_t index, T value) {
    std::memcpy(bytes.data() + index * sizeof(T), &value, sizeof(T));
  }
  static void fill(const RegionInfo& info, Buffer& bytes, std::uint64_t i, std::uint64_t seed) {
    const std::uint64_t value = seed * 1000 + i;
    switch (info.type) {
      case ElementType::float64: return put(bytes, i, static_cast<double>(value));
      case ElementType::float32: return put(bytes, i, static_cast<float>(value));
      case ElementType::int32: return put(bytes, i, static_cast<std::int32_t>(value));
      default: break;
    }
    for (std::uint64_t b = 0; b < info.element_bytes; ++b) {
      bytes[i * info.element_bytes + b] = static_cast<std::byte>(value * 31 + b);
    }
  }

  std::deque<Buffer> bytes_;  // never moves what the regions point to
  std::vector<RegionData> regions_;
};

inline ShardIdentity sample_identity(Rank rank, std::uint32_t ranks = 16) {
  return {kSampleIdentity, kSampleSafePoint, rank, ranks};
}

inline DirName sample_dir() { return names::snapshot(kSampleIdentity); }

inline Buffer read_all(const Store& store, const FileName& name) {
  auto file = store.open(name);
  if (!file) return {};
  Buffer bytes((*file)->size_bytes());
  if (!(*file)->read(0, bytes)) return {};
  return bytes;
}

}  // namespace cairn::test
