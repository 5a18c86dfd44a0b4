// What cannot be used though a manifest names it: which file, in which store. Values.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "base/ids.hpp"

namespace cairn {

// A store: a node's, by the number of its head, or one that all nodes share. The first shared store is the global
// store, which has the job's records; a level may use another one.
class StoreId {
 public:
  constexpr StoreId() = default;
  [[nodiscard]] static constexpr StoreId node(std::uint32_t head) { return StoreId(head); }
  [[nodiscard]] static constexpr StoreId node(Peer head) { return StoreId(head.value); }
  // `number` < kMostShared.
  [[nodiscard]] static constexpr StoreId shared(std::uint32_t number) { return StoreId(~number); }
  [[nodiscard]] static constexpr StoreId global() { return shared(0); }
  // As it stands in messages. Inverse pair.
  [[nodiscard]] static constexpr StoreId of_number(std::uint32_t number) { return StoreId(number); }
  [[nodiscard]] constexpr std::uint32_t number() const { return number_; }

  [[nodiscard]] constexpr bool is_shared() const { return ~number_ < kMostShared; }
  // Of a node's store: its head, or its place in a list of stores.
  [[nodiscard]] constexpr std::uint32_t head() const { return number_; }
  friend constexpr auto operator<=>(StoreId, StoreId) = default;

 private:
  static constexpr std::uint32_t kMostShared = 16;
  constexpr explicit StoreId(std::uint32_t number) : number_(number) {}
  std::uint32_t number_ = ~std::uint32_t{0};
};

struct Strike {
  StoreId store;
  std::string file;  // in a shared store, where a rank's shard is a part of another file: as the shard would be called
  friend auto operator<=>(const Strike&, const Strike&) = default;
};

// Whether an error with this code, found while a file is read, is the fault of that file: it is bad, or cannot be read.
[[nodiscard]] constexpr bool is_of_source(Code code) {
  return code == Code::io || code == Code::not_found || code == Code::corrupt || code == Code::newer_format ||
         code == Code::untrusted;
}

}  // namespace cairn
