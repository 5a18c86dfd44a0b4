// Watches a node's store: operations that fail with input or output errors, operations that find no room, and whether
// the next snapshot of the node's ranks fits. Operations of ranks count, too. Local. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/symptom.hpp"
#include "engine/messages.hpp"
#include "localize/messages.hpp"
#include "store/watched_store.hpp"

namespace cairn {

class StoreWatch {
 public:
  using Time = std::chrono::microseconds;

  // So long after its last failure a store counts as healthy again.
  static constexpr std::chrono::minutes kRecovers{10};
  // While a snapshot is written, a store that is large enough may have no room for another one. It is full if that
  // lasts for longer.
  static constexpr std::chrono::seconds kFullFor{30};

  // `store`: uncounted.
  StoreWatch(std::shared_ptr<const StoreCounts> counts, std::shared_ptr<const Store> store);

  // A rank of the node has written its shard, or could not.
  void note_write(const Seal& seal);
  // To be called every second. A symptom for each operation that failed since the last look, as far as they count.
  struct Found {
    SymptomKind kind{};
    double measure = 0;
    std::string error = {};  // the text of the last one; empty: none has failed
  };
  [[nodiscard]] std::vector<Found> look(Time now);
  // For a probe.
  void fill(localize::NodeState& state, Time now) const;

 private:
  struct Operations {
    std::uint64_t all = 0;
    std::uint64_t failed = 0;
    std::uint64_t refused = 0;  // there was no room
  };
  // Recent failures of one kind.
  struct Trouble {
    std::optional<Time> since = {};
    Time last{};
    Operations before = {};
    void note(Time now, const Operations& before_now);
    void forget(Time now);
  };
  [[nodiscard]] Operations operations() const;
  void look_at_room(Time now, std::vector<Found>& found);

  std::shared_ptr<const StoreCounts> counts_;
  std::shared_ptr<const Store> store_;
  Operations written_;       // by ranks
  std::string write_error_;  // the last one since the last look
  Operations seen_;          // at the last look
  Trouble failing_, refusing_;
  Version version_;           // the newest that ranks have written
  std::uint64_t bytes_ = 0;   // of that version, so far
  std::uint64_t wanted_ = 0;  // by the largest snapshot of the node's ranks
  std::optional<std::uint64_t> free_;
  std::optional<Time> small_since_;  // the next snapshot does not fit
  Time next_room_{}, next_small_report_{};
};

}  // namespace cairn
