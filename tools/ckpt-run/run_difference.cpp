#include "run_difference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace ckpt_run {
namespace {

using cairn::Buffer;
using cairn::Bytes;
using cairn::ElementType;
using cairn::Rank;
using cairn::RegionInfo;
using cairn::Result;
using cairn::SnapshotReader;
using cairn::Status;

template <class T>
T value_of(Bytes bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

template <class T>
bool are_near(Bytes a, Bytes b, double tolerance) {
  const double x = value_of<T>(a), y = value_of<T>(b);
  return std::abs(x - y) <= tolerance * std::max(std::abs(x), std::abs(y));
}

std::string value_text(ElementType type, Bytes bytes) {
  switch (type) {
    case ElementType::int8: return std::to_string(value_of<std::int8_t>(bytes));
    case ElementType::int16: return std::to_string(value_of<std::int16_t>(bytes));
    case ElementType::int32: return std::to_string(value_of<std::int32_t>(bytes));
    case ElementType::int64: return std::to_string(value_of<std::int64_t>(bytes));
    case ElementType::uint8: return std::to_string(value_of<std::uint8_t>(bytes));
    case ElementType::uint16: return std::to_string(value_of<std::uint16_t>(bytes));
    case ElementType::uint32: return std::to_string(value_of<std::uint32_t>(bytes));
    case ElementType::uint64: return std::to_string(value_of<std::uint64_t>(bytes));
    case ElementType::float32: return fmt::format("{}", value_of<float>(bytes));
    case ElementType::float64: return fmt::format("{}", value_of<double>(bytes));
    case ElementType::opaque: break;
  }
  constexpr std::size_t kShown = 16;
  std::string text;
  for (const std::byte byte : bytes.first(std::min(bytes.size(), kShown))) text += fmt::format("{:02x}", byte);
  return text + (bytes.size() > kShown ? "…" : "");
}

// Pieces of whole elements.
constexpr std::uint64_t kPieceBytes = 1 << 20;

class ElementComparison {
 public:
  ElementComparison(const RegionInfo& info, double tolerance) : info_(info), tolerance_(tolerance) {}

  // Elements from `index` on.
  void take(std::uint64_t index, Bytes expected, Bytes found) {
    if (std::ranges::equal(expected, found)) return;
    const std::size_t bytes = info_.element_bytes;
    for (std::size_t at = 0; at < expected.size(); at += bytes, ++index) {
      const Bytes a = expected.subspan(at, bytes), b = found.subspan(at, bytes);
      if (are_equal(info_.type, a, b, tolerance_)) continue;
      if (difference_.differing++ > 0) continue;
      difference_.first = index;
      difference_.expected = value_text(info_.type, a);
      difference_.found = value_text(info_.type, b);
    }
  }
  [[nodiscard]] const RegionDifference& difference() const { return difference_; }

 private:
  const RegionInfo& info_;
  double tolerance_;
  RegionDifference difference_;
};

Result<RegionDifference> compare_elements(SnapshotReader& expected, SnapshotReader& found, Rank rank,
                                          const RegionInfo& info, double tolerance) {
  ElementComparison comparison(info, tolerance);
  const std::uint64_t step = std::max<std::uint64_t>(1, kPieceBytes / std::max(info.element_bytes, 1U));
  Buffer a, b;
  for (std::uint64_t at = 0; at < info.elements(); at += step) {
    const std::uint64_t bytes = std::min(step, info.elements() - at) * info.element_bytes;
    a.resize(bytes);
    b.resize(bytes);
    if (auto status = expected.read(rank, info.name, at * info.element_bytes, a); !status) return fail(status.error());
    if (auto status = found.read(rank, info.name, at * info.element_bytes, b); !status) return fail(status.error());
    comparison.take(at, a, b);
  }
  RegionDifference difference = comparison.difference();
  difference.region = info.name;
  difference.rank = rank;
  difference.elements = info.elements();
  difference.opaque = info.type == ElementType::opaque;
  return difference;
}

std::map<std::string, RegionInfo> by_name(std::vector<RegionInfo> infos) {
  std::map<std::string, RegionInfo> named;
  for (RegionInfo& info : infos) named.emplace(info.name, std::move(info));
  return named;
}

RegionDifference only(RegionDifference::Kind kind, const std::string& region, Rank rank) {
  RegionDifference difference;
  difference.kind = kind;
  difference.region = region;
  difference.rank = rank;
  return difference;
}

Status compare_rank(SnapshotReader& expected, SnapshotReader& found, Rank rank, double tolerance,
                    std::map<std::string, std::uint64_t>& bytes_of, std::vector<RegionDifference>& differences) {
  using Kind = RegionDifference::Kind;
  auto infos = expected.regions(rank);
  auto other_infos = found.regions(rank);
  if (!infos) return fail(infos.error());
  if (!other_infos) return fail(other_infos.error());
  const auto mine = by_name(std::move(*infos)), others = by_name(std::move(*other_infos));
  for (const auto& [name, info] : others)
    if (!mine.contains(name)) differences.push_back(only(Kind::added, name, rank));
  for (const auto& [name, info] : mine) {
    bytes_of[name] += info.size_bytes();
    const auto other = others.find(name);
    if (other == others.end()) {
      differences.push_back(only(Kind::missing, name, rank));
    } else if (other->second.stored_type_text() != info.stored_type_text()) {
      differences.push_back(only(Kind::shape, name, rank));
      differences.back().expected = info.type_text();
      differences.back().found = other->second.type_text();
    } else {
      const auto difference = compare_elements(expected, found, rank, info, tolerance);
      if (!difference) return fail(difference.error());
      if (difference->differing > 0) differences.push_back(*difference);
    }
  }
  return {};
}

}  // namespace

bool are_equal(ElementType type, Bytes a, Bytes b, double tolerance) {
  if (std::ranges::equal(a, b)) return true;
  if (tolerance <= 0) return false;
  if (type == ElementType::float32) return are_near<float>(a, b, tolerance);
  return type == ElementType::float64 && are_near<double>(a, b, tolerance);
}

Result<RunDifference> compare_runs(SnapshotReader& expected, SnapshotReader& found, double tolerance) {
  RunDifference result;
  std::map<std::string, std::uint64_t> bytes_of;
  for (const Rank rank : expected.ranks()) {
    if (auto status = compare_rank(expected, found, rank, tolerance, bytes_of, result.regions); !status)
      return fail(status.error());
  }
  std::ranges::stable_sort(result.regions, {},
                           [](const RegionDifference& one) { return std::pair(one.region, one.rank); });
  result.compared = bytes_of.size();
  for (const auto& [name, bytes] : bytes_of) result.bytes += bytes;
  return result;
}

}  // namespace ckpt_run
