// What a fault drawn for threads becomes where only processes and directories can be touched, from outside: processes
// and launchers are killed or stopped, stores wiped, damaged or taken away, while the job runs. One thread.
//
// A fault's `at` says when: so many milliseconds after the job has come for the first, second or third time.
#pragma once

#include <cstdint>
#include <vector>

#include "torture/mpi/diary.hpp"
#include "torture/mpi/launch.hpp"
#include "torture/mpi/places.hpp"
#include "torture/mpi/tally.hpp"
#include "torture/scenario.hpp"

namespace cairn::torture {

enum class Strike {
  none,
  kill_one,
  kill_node,
  kill_launcher,
  kill_supervisor,
  stop_one,
  wipe,
  take_away,
  flip,
  remove,
};

[[nodiscard]] Strike strike_of(const Fault& fault, const Life& life);
[[nodiscard]] Circumstances::Faults effect_of(Strike strike);

// A strike that was done.
struct Struck {
  Moment at;
  Strike what = Strike::none;
  Place place = {};   // of a store
  bool lost = false;  // all of it, its newest, or a record
  bool mark = false;  // what was damaged says whose snapshots it holds
};

class Striker {
 public:
  // All stays the caller's.
  Striker(const Life& life, const Places& places, Tally& tally);
  // Does what is due when the job has begun so often. Of several launches one is struck.
  void look(const std::vector<Launch*>& launches, std::size_t beginnings);
  [[nodiscard]] const std::vector<Struck>& struck() const { return struck_; }

 private:
  void strike(Launch& launch, const Fault& fault);
  void kill_node_of(const Launch& launch, pid_t victim);
  void end(pid_t process, std::atomic<std::uint64_t>& count);
  void stop(pid_t process);
  void go_on();
  void hurt(const Fault& fault, Strike what);

  const Life& life_;
  const Places& places_;
  Tally& tally_;
  std::vector<Fault> to_come_;
  std::vector<Moment> begun_;  // when it was seen to have come for the n-th time
  std::vector<Struck> struck_;
  struct Stopped {
    Moment at;
    pid_t process = 0;
  };
  std::vector<Stopped> stopped_;
};

}  // namespace cairn::torture
