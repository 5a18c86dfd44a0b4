// Where the lives of a scenario are played: by threads of this process, or by processes of MPI. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "support/store_image.hpp"
#include "torture/ledger.hpp"
#include "torture/model.hpp"
#include "torture/scenario.hpp"

namespace cairn::torture {

// The store of a host; none: the global one.
using Place = std::optional<std::uint32_t>;

// A life, and what was before it.
struct Turn {
  const Life& life;
  const Life* before = nullptr;     // none: it is the first
  std::vector<std::uint32_t> lost;  // hosts that have lost their stores since then
  bool others = false;              // something of a newer format is there, or of another key
  std::size_t number = 0;           // in the scenario as it is played
  std::uint64_t first_stamp = 0;
};

// The job may come again within a life: it is started again, or mends itself. Each time is an attempt.
struct Attempt {
  std::size_t number = 0;
  bool goes_on = false;  // also where the life was to begin fresh
  Circumstances::Faults faults = Circumstances::Faults::none;
  std::set<Place> shaky = {};
  bool all_is_read = false;  // whatever is written, nothing that was is lost, and no read fails
};
// Begins an attempt, which ends the one before: what its ranks note.
using Begin = std::function<Ledger&(const Attempt&)>;

// How a life went, but for what its ranks have noted.
struct Lived {
  std::string open_error;  // why no rank got a session, where one was told
  std::string wrong;       // what should not have happened whatever failed
};

class Cluster {
 public:
  virtual ~Cluster() = default;

  [[nodiscard]] virtual bool has(Place place) const = 0;
  // A store as it is between two lives; and made so again; and lost, with what processes know of it.
  [[nodiscard]] virtual test::StoreImage image(Place place) const = 0;
  virtual void put_back(Place place, const test::StoreImage& image) = 0;
  virtual void lose(Place place) = 0;

  // What the faults of a life may do to it here.
  [[nodiscard]] virtual Circumstances::Faults effect_of(const Life& life) const = 0;
  // Plays it to its end. The model is told which stores it has hurt.
  [[nodiscard]] virtual Lived live(const Turn& turn, const Begin& begin, Model& model) = 0;
};

// Nodes of the life before that lost their stores, as this one is told of them.
[[nodiscard]] std::vector<std::uint32_t> told_lost(const Turn& turn);

}  // namespace cairn::torture
