// What a seed draws: the lives of a job, each with its cluster and configuration, what happens to the stores before it,
// what fails in it, and what the application does. Plain data, the same for the same seed on any machine.
//
// Every part that may be left out is an item with a number, so that a failing scenario can be shrunk, and a shrunken
// one be named by its seed and what is left out.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cairn::torture {

// What happens to the store of a host, or to the global one, while no process of the job lives. Of files one is picked.
struct Mishap {
  enum class Kind {
    lose_node,
    swap_node,  // the host comes back with what it had when it was last swapped: at first, with nothing
    flip_node_file,
    flip_newest_file,  // of the newest version that is there
    cut_node_file,
    remove_node_file,
    age_node,          // its records become those of the oldest format
    newer_node_file,   // for one life a record claims a format that is not known yet
    forged_node_file,  // for one life a record is sealed with another key
    lose_global,
    flip_global_file,
    cut_global_file,
    age_global,
    newer_global_file,
    forged_global_file,
  };
  Kind kind = Kind::lose_node;
  std::uint32_t host = 0;
  std::uint64_t pick = 0;  // which file, and where in it
};

// What fails while the job runs. Operations are those that change a store, reads are counted apart.
struct Fault {
  enum class Kind {
    message_kills,  // all die at a message operation
    operation_once,
    operations,  // from then on: the store can be read, and not written
    store_full,  // the same, for want of space
    store_gone,  // from then on nothing goes, reads neither
    operation_kills,
    read_once,
    reads,  // from then on
    read_kills,
    flipped_reads,  // one in `at`
    slow,           // each operation takes a while
    wiped,          // all files vanish
    robbed,         // all of one version do
    stuck,          // from then on nothing can be removed
  };
  static constexpr std::uint32_t kKinds = 14;
  Kind kind = Kind::message_kills;
  std::optional<std::uint32_t> host;  // none: the global store
  std::uint64_t at = 0;               // operations before it
  bool in_finalize = false;           // those since a rank called finalize
};

// What ranks do, one after the other.
struct Event {
  enum class Kind {
    compute,
    snapshot,
    snapshot_to,
    wait,
    restore,
    restore_region,
    resize,
    toggle_more,
    unprotect_unknown,  // on one rank
    kill_job,           // one rank does
    open,
    open_pinned,
    reject,  // opens the newest, and one rank rejects it
    choose,  // opens the newest, and restores one that is older
    pinned,  // a snapshot
  };
  Kind kind = Kind::compute;
  std::uint32_t level = 1;  // of snapshot_to and wait
  // Of resize: elements; of unprotect_unknown, kill_job and reject: the rank; of choose: so many versions older.
  std::uint32_t number = 0;
};

// How a rank's clock jumps: so far at each of these calls of it.
struct Clock {
  std::uint32_t rank = 0;  // of the world
  std::set<std::uint64_t> jumps;
};

// The MPI of real jobs: Open MPI; one with ULFM, so that jobs can mend themselves; MPICH.
enum class Mpi { open_mpi, ulfm, mpich };

// How a life is played by processes; threads take no notice.
struct Outside {
  // [recovery] mode. The last of its nodes has nothing but spares then.
  enum class Mending { none, spares, respawn } mending = Mending::none;
  bool supervised = false;     // by ckpt-run, which starts the job again until it has finished
  bool doubled = false;        // the same job is started once more meanwhile
  bool beside = false;         // another user runs a job of the same name
  std::uint32_t room_kib = 0;  // all that node stores may hold more; 0: as much as there is
};

struct Life {
  std::vector<std::uint32_t> nodes;  // world ranks of each, heads included
  std::vector<std::uint32_t> hosts;  // of each node
  std::string settings;              // of the INI file
  std::uint32_t copies = 1;
  std::uint32_t parity = 1;
  std::uint32_t keep_local = 1;
  std::uint32_t keep_global = 1;
  bool keyed = false;       // the job's files are sealed with a key
  bool finishes = true;     // [restart] at_end
  bool survivors = false;   // processes of hosts that lost nothing are those of the life before
  bool told = false;        // of nodes whose stores were lost
  bool strangers = false;   // another number of application ranks, which are refused
  bool elastic = false;     // its program says what its regions are, so that any number of ranks may restore them
  bool by_columns = false;  // its ranks have columns of the array, and not rows
  // [restart] mode, or a program that does not call restore().
  enum class Start { automatic, fresh, required, unasked } start = Start::automatic;
  std::uint32_t choice = 0;  // the version that its first call asks for; 0: none
  std::vector<Mishap> before;
  std::vector<Fault> faults;
  std::optional<Clock> clock;
  std::vector<Event> events;
  // All finalize; or are killed; or drop their sessions. Or all finalize but for one rank, which drops its session; or
  // left out the last snapshot, or a last restore.
  enum class End { finalize, die, drop, one_drops, one_left_out_a_snapshot, one_left_out_a_restore } end = End::die;
  std::uint32_t odd_rank = 0;  // of the application
  Outside outside;
};

struct Scenario {
  std::uint64_t seed = 0;
  std::vector<Life> lives;
  bool of_heat = false;  // processes run that instead of the program that checks itself
};

[[nodiscard]] Scenario draw(std::uint64_t seed);
// The same with other numbers of ranks in some lives, and other parts of the array.
[[nodiscard]] Scenario with_other_ranks(Scenario scenario);
// That one with more that fails, as processes can be killed again and again, and how they are started.
[[nodiscard]] Scenario draw_outside(std::uint64_t seed, Mpi mpi);
// Whether it makes a file one that a job may not judge: it starts nothing, and leaves it as it is.
[[nodiscard]] bool makes_it_others(const Mishap& mishap);
// How many items it has; and the same without those whose numbers are given.
[[nodiscard]] std::uint32_t count_items(const Scenario& scenario);
[[nodiscard]] Scenario without(const Scenario& scenario, const std::set<std::uint32_t>& left_out);
// "openmpi", "ulfm", "mpich".
[[nodiscard]] std::string name_of(Mpi mpi);
// "3,8,9", or "none"; and its inverse.
[[nodiscard]] std::set<std::uint32_t> parse_items(const std::string& list);
[[nodiscard]] std::string text(const std::set<std::uint32_t>& items);
// Which node of a life a host is.
[[nodiscard]] std::optional<std::uint32_t> node_of(const Life& life, std::uint32_t host);
// Its INI file, but for the sizes of nodes.
[[nodiscard]] std::string settings_of(const Life& life);
// Stamps of its states, by its number in the scenario, begin here.
[[nodiscard]] constexpr std::uint64_t first_stamp_of(std::size_t life) {
  constexpr std::uint64_t kOfALife = 10'000;
  return kOfALife * life + 1;
}
// … and those of its n-th attempt, so much later.
inline constexpr std::uint64_t kStampsOfAnAttempt = 50;
// What a life is when the job comes again in it: what its ranks did to themselves they do only once.
[[nodiscard]] Life again(Life life);
// Whether calls fail in it by what its own ranks do: a kill, or a dropped session.
[[nodiscard]] bool calls_may_fail(const Life& life);
// Whether it reads snapshots, chooses, rejects or pins some: more of them are kept then.
[[nodiscard]] bool picks(const Life& life);
// A line for each item, with its number in the scenario as it was drawn.
[[nodiscard]] std::string text(const Scenario& scenario, const std::set<std::uint32_t>& left_out);

}  // namespace cairn::torture
