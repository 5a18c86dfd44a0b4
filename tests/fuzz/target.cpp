#include "fuzz/target.hpp"

#include <algorithm>

#include "codec/crc32c.hpp"

namespace cairn::fuzz {
namespace {

std::vector<Target> all_targets() {
  std::vector<Target> all;
  for (const auto make : {container_targets, json_targets, message_targets, inventory_targets, text_targets,
                          tool_targets, hdf5_targets}) {
    std::ranges::copy(make(), std::back_inserter(all));
  }
  return all;
}

}  // namespace

std::span<const Target> targets() {
  static const std::vector<Target> kAll = all_targets();
  return kAll;
}

const Target* find_target(std::string_view name) {
  const auto found = std::ranges::find(targets(), name, &Target::name);
  return found == targets().end() ? nullptr : &*found;
}

Damage damage_by(Bytes input, std::uint64_t size) {
  const std::uint64_t number = crc32c(input) * 0x9e3779b97f4a7c15ULL;
  return {(number >> 8U) % size, static_cast<std::byte>(1U << (number >> 5U & 7U))};
}

}  // namespace cairn::fuzz
