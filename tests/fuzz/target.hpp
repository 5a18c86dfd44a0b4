// A Target is something that reads bytes from outside, with what must hold of it for any bytes. It may refuse them. It
// must not crash, run off an end, hang, or take memory without bound, and what it accepts must be what was written.
//
// What a checksum protects is behind it: a target puts the checksums of its input right first, so that the fuzzer
// reaches the parser, and then damages what it made, so that the checksum is tried too.
//
// One process at a time runs a target; nothing is kept from one input to the next.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "fuzz/mutate.hpp"

namespace cairn::fuzz {

struct Target {
  std::string_view name;
  bool (*run)(Bytes input);        // whether the input was accepted; throws Broken
  std::vector<Buffer> (*seeds)();  // whole inputs: all are accepted
  Mutate mutate = mutate_bytes;
};

[[nodiscard]] std::span<const Target> targets();
// Null: there is none of that name.
[[nodiscard]] const Target* find_target(std::string_view name);

// By what they read; targets() has all of them.
[[nodiscard]] std::vector<Target> container_targets();
[[nodiscard]] std::vector<Target> json_targets();
[[nodiscard]] std::vector<Target> message_targets();
[[nodiscard]] std::vector<Target> inventory_targets();
[[nodiscard]] std::vector<Target> text_targets();
[[nodiscard]] std::vector<Target> tool_targets();
[[nodiscard]] std::vector<Target> hdf5_targets();

// A promise that an input has broken.
class Broken : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};
inline void must(bool holds, const std::string& promise) {
  if (!holds) throw Broken(promise);
}

// The bit of `size` bytes that an input damages: always the same one.
struct Damage {
  std::uint64_t offset = 0;
  std::byte bit{1};
};
[[nodiscard]] Damage damage_by(Bytes input, std::uint64_t size);

[[nodiscard]] inline Buffer buffer_of(std::string_view text) {
  const Bytes bytes = bytes_of(text);
  return {bytes.begin(), bytes.end()};
}

}  // namespace cairn::fuzz
