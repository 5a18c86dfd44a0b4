// What a seed draws: the lives of a job, each with its cluster and configuration, what happens to the stores before it,
// what fails in it, and what the application does. Plain data, the same for the same seed on any machine.
//
// Every part that may be left out is an item with a number, so that a failing scenario can be shrunk, and a shrunken
// one be named by its seed and what is left out.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace cairn::torture {

// What happens to a store while no process of the job lives.
struct Mishap {
  enum class Kind { lose_node, lose_global, flip_node_file, flip_global_file, cut_node_file, remove_node_file };
  Kind kind = Kind::lose_node;
  std::uint32_t node = 0;
  std::uint64_t pick = 0;  // which file, and where in it
};

// What fails while the job runs, once or from then on.
struct Fault {
  enum class Kind { message, node_write_once, node_writes, global_write_once, global_writes, node_read_once };
  Kind kind = Kind::message;
  std::uint32_t node = 0;
  std::uint64_t at = 0;  // operations before it
};

// What all ranks do, one after the other.
struct Event {
  enum class Kind { compute, snapshot, snapshot_to, wait, restore, resize, toggle_more, kill_job };
  Kind kind = Kind::compute;
  std::uint32_t level = 1;   // of snapshot_to and wait
  std::uint32_t number = 0;  // of resize: elements; of kill_job: the rank that does it
};

struct Life {
  std::vector<std::uint32_t> nodes;  // world ranks of each, heads included
  std::string settings;              // of the INI file
  std::uint32_t copies = 1;
  std::uint32_t parity = 1;
  bool finishes = true;  // [restart] at_end
  std::vector<Mishap> before;
  std::vector<Fault> faults;  // at most one
  std::vector<Event> events;
  enum class End { finalize, die } end = End::die;
};

struct Scenario {
  std::uint64_t seed = 0;
  std::vector<Life> lives;
};

[[nodiscard]] Scenario draw(std::uint64_t seed);
// How many items it has; and the same without those whose numbers are given.
[[nodiscard]] std::uint32_t count_items(const Scenario& scenario);
[[nodiscard]] Scenario without(const Scenario& scenario, const std::set<std::uint32_t>& left_out);
// A line for each item, with its number in the scenario as it was drawn.
[[nodiscard]] std::string text(const Scenario& scenario, const std::set<std::uint32_t>& left_out);

}  // namespace cairn::torture
