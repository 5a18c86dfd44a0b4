// What ckpt-tool health --report has left in the global store: taken by one head, which removes it. Local.
// A report that cannot be read now, that is sealed with another key, or that a newer Cairn has written, stays.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/symptom.hpp"
#include "format/sealer.hpp"
#include "store/store.hpp"
#include "topology/topology.hpp"

namespace cairn {

struct Suspicion {
  Suspect suspect;
  std::string text;
  friend bool operator==(const Suspicion&, const Suspicion&) = default;
};

class SuspicionBox {
 public:
  // An older report no longer counts.
  static constexpr std::uint64_t kCountsForSeconds = 600;

  // Keeps a reference to `topology`. `store`: the global one.
  SuspicionBox(std::shared_ptr<Store> store, const Topology& topology, Sealer sealer, Log log);

  // `today`: seconds since 1970. One that cannot be read, is too old, or is about nothing in this job is a warning.
  [[nodiscard]] std::vector<Suspicion> take(std::uint64_t today);

 private:
  // None: it stays.
  [[nodiscard]] std::optional<std::vector<Suspicion>> read(const FileName& name, std::uint64_t today);

  std::shared_ptr<Store> store_;
  const Topology& topology_;
  Sealer sealer_;
  Log log_;
  std::set<std::string> kept_;  // that stay; said once
};

}  // namespace cairn
