#include "door/veloc/history.hpp"

#include <algorithm>
#include <utility>

namespace cairn::door {
namespace {

constexpr std::size_t kHeader = 4;  // version, Cairn's number, whether there is a file, number of regions
constexpr std::size_t kRegion = 2;  // id, bytes

}  // namespace

const StoredVersion* History::find(int version) const {
  const auto found = std::ranges::find(versions_, version, &StoredVersion::version);
  return found == versions_.end() ? nullptr : &*found;
}

std::optional<int> History::highest(int most) const {
  std::optional<int> found;
  for (const StoredVersion& each : versions_) {
    if (most == 0 || each.version <= most) found = std::max(found.value_or(each.version), each.version);
  }
  return found;
}

std::vector<int> History::versions() const {
  std::vector<int> numbers;
  for (const StoredVersion& each : versions_) numbers.push_back(each.version);
  return numbers;
}

void History::add(StoredVersion taken, std::size_t most) {
  drop(taken.version);
  versions_.push_back(std::move(taken));
  if (versions_.size() > most) versions_.erase(versions_.begin(), versions_.end() - static_cast<std::ptrdiff_t>(most));
}

void History::drop(int version) {
  std::erase_if(versions_, [&](const StoredVersion& each) { return each.version == version; });
}

void History::number_last(std::uint32_t snapshot) {
  if (!versions_.empty()) versions_.back().snapshot = snapshot;
}

std::vector<std::int64_t> History::encode() const {
  std::vector<std::int64_t> numbers;
  for (const StoredVersion& each : versions_) {
    numbers.insert(numbers.end(), {each.version, static_cast<std::int64_t>(each.snapshot), each.has_file ? 1 : 0,
                                   static_cast<std::int64_t>(each.memory.size())});
    for (const StoredMemory& region : each.memory)
      numbers.insert(numbers.end(), {region.id, static_cast<std::int64_t>(region.bytes)});
  }
  return numbers;
}

History History::decode(const std::vector<std::int64_t>& numbers) {
  History history;
  std::size_t at = 0;
  while (numbers.size() - at >= kHeader) {
    StoredVersion each{.version = static_cast<int>(numbers[at]),
                       .snapshot = static_cast<std::uint32_t>(numbers[at + 1]),
                       .has_file = numbers[at + 2] != 0,
                       .memory = {}};
    const auto regions = static_cast<std::uint64_t>(numbers[at + 3]);
    at += kHeader;
    if (regions > (numbers.size() - at) / kRegion) break;
    for (std::uint64_t i = 0; i < regions; ++i, at += kRegion)
      each.memory.push_back({static_cast<int>(numbers[at]), static_cast<std::uint64_t>(numbers[at + 1])});
    history.versions_.push_back(std::move(each));
  }
  return history;
}

}  // namespace cairn::door
