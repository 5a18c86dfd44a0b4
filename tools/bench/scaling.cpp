// What Cairn communicates as a job grows, counted, and how long the planner takes for a large one. Appends one JSON
// record a figure to a file:  bench-scaling [FILE [MOST_RANKS [MOST_NODES]]]  (default: standard output, 256, 256)
//
// MOST_NODES, each one thread, is for what a plan costs with and without the failure topology. Jobs are threads of this
// process, so the counts hold on any machine; only the planner's seconds do not. Ranks that wait for their heads look
// every half millisecond, so two cores can run 512 of them in some minutes, but not many more. Plans of up to 1024
// nodes take some minutes; larger ones take very long.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "recover/plan.hpp"
#include "support/large_layout.hpp"
#include "support/plan_cost.hpp"
#include "support/scaling.hpp"

namespace {

using cairn::LevelId;
using cairn::Traffic;
using namespace cairn::test;

class Records {
 public:
  explicit Records(std::ostream& out) : out_(out) {}

  void count(const std::string& figure, const JobShape& shape, std::uint64_t value, const char* unit = "count") {
    nlohmann::json record{{"group", "scaling"}, {"figure", figure}, {"unit", unit}};
    record["ranks"] = shape.ranks();
    record["nodes"] = shape.nodes;
    record["values"] = {value};
    out_ << record.dump() << std::endl;
  }
  void seconds(const std::string& figure, const std::vector<double>& values) {
    const nlohmann::json record{{"group", "planner"}, {"figure", figure}, {"unit", "s"}, {"values", values}};
    out_ << record.dump() << std::endl;
  }
  void to_first_byte(const std::string& figure, std::uint32_t nodes, const std::vector<double>& values,
                     const char* unit) {
    const nlohmann::json record{
        {"group", "to the first byte"}, {"figure", figure}, {"unit", unit}, {"nodes", nodes}, {"values", values}};
    out_ << record.dump() << std::endl;
  }
  void traffic(const std::string& who, const std::string& what, const JobShape& shape, const Traffic& traffic) {
    const auto name = [&](const char* counted) { return fmt::format("{} per {}, {}", counted, who, what); };
    count(name("messages"), shape, traffic.messages);
    count(name("messages received"), shape, traffic.received);
    count(name("bytes in messages"), shape, traffic.message_bytes, "B");
    count(name("bytes received in messages"), shape, traffic.received_bytes, "B");
    count(name("collectives"), shape, traffic.collectives);
    count(name("bytes given to collectives"), shape, traffic.collective_bytes, "B");
    count(name("bytes gathered"), shape, traffic.gathered_bytes, "B");
  }
  void both(const std::string& what, const JobShape& shape, const Busiest& busiest) {
    traffic("application rank", what, shape, busiest.rank);
    traffic("head", what, shape, busiest.head);
  }

 private:
  std::ostream& out_;
};

void count_jobs(Records& records, std::uint32_t most_ranks) {
  for (std::uint32_t ranks = 4; ranks <= most_ranks; ranks *= 2) {
    const JobShape shape = shape_of(ranks);
    records.both("snapshot", shape, count_snapshot(shape, LevelId::local));
    records.both("snapshot to L2", shape, count_snapshot(shape, LevelId::partner));
    records.both("snapshot to L3", shape, count_snapshot(shape, LevelId::erasure));
    records.both("open and finalize", shape, count_open_and_finalize(shape));
    records.both("restore", shape, count_restore(shape, 0));
    records.both("restore, 1 node lost", shape, count_restore(shape, 1));
  }
}

// Files of the global store take the longest, so fewer sizes are measured.
void count_global(Records& records, std::uint32_t most_ranks) {
  for (std::uint32_t ranks = 16; ranks <= std::min(most_ranks, 256U); ranks *= 4) {
    records.both("snapshot to L4", shape_of(ranks), count_snapshot(shape_of(ranks), LevelId::global));
  }
}

void count_inventories(Records& records) {
  for (const std::uint32_t nodes : {4U, 64U, 512U}) {
    for (const std::uint32_t snapshots : {1U, 10U, 50U}) {
      const InventoryCount count = count_inventory(nodes, snapshots);
      const JobShape heads{nodes, 1};
      const std::string kept = fmt::format("inventory, {} snapshots kept", snapshots);
      records.count("bytes per head, " + kept, heads, count.bytes_given, "B");
      records.count("bytes of the one head that broadcasts, " + kept, heads, count.bytes_given_by_one, "B");
      records.count("collectives per head, " + kept, heads, count.collectives);
    }
  }
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Each five times, in turns, so that all run under the same conditions; where there are too many threads for timing,
// only counts.
void count_plans(Records& records, std::uint32_t most_nodes) {
  struct Way {
    const char* name;
    Search search;
    std::vector<double> seconds;
  };
  constexpr std::uint32_t kMostTimed = 1024;
  for (std::uint32_t nodes = 64; nodes <= most_nodes; nodes *= 2) {
    PlanScene scene(nodes, StoreKind::files);
    const JobShape heads{nodes, 1};
    for (const LevelId needed : cairn::kAllLevels) {
      Way ways[] = {{"with failure topology, same process", {true, true}, {}},
                    {"with failure topology, new process", {true, false}, {}},
                    {"level by level", {false, false}, {}}};
      for (Way& way : ways) {
        const PlanCost cost = scene.cost(needed, way.search);
        const std::string what = fmt::format("plan {}, L{} failure", way.name, static_cast<int>(needed));
        records.count("collectives per head, " + what, heads, cost.traffic.collectives);
        records.count("messages per head, " + what, heads, cost.traffic.messages);
        records.count("bytes given to collectives per head, " + what, heads, cost.traffic.collective_bytes, "B");
        records.count("bytes gathered per head, " + what, heads, cost.traffic.gathered_bytes, "B");
        records.count("lists of the node store, " + what, heads, cost.own.lists);
        records.count("files opened in the node store, " + what, heads, cost.own.opens);
        records.count("bytes read from the node store, " + what, heads, cost.own.bytes, "B");
        records.count("files opened in the global store by one head, " + what, heads, cost.global.opens);
      }
      if (nodes > kMostTimed) continue;
      for (int turn = 0; turn < 5; ++turn) {
        for (Way& way : ways) way.seconds.push_back(scene.cost(needed, way.search).seconds);
      }
      for (const Way& way : ways) {
        records.to_first_byte(fmt::format("L{} failure, {}", static_cast<int>(needed), way.name), nodes, way.seconds,
                              "s");
      }
      const auto ratio = [&](const char* name, const Way& with, const Way& without) {
        records.to_first_byte(fmt::format("L{} failure, {}", static_cast<int>(needed), name), nodes,
                              {median(with.seconds) / median(without.seconds)}, "");
      };
      ratio("with ÷ without, same process", ways[0], ways[2]);
      ratio("with ÷ without, new process", ways[1], ways[2]);
    }
  }
}

template <class Work>
std::vector<double> timed(Work work) {
  std::vector<double> seconds;
  for (int turn = 0; turn < 5; ++turn) {
    const auto start = std::chrono::steady_clock::now();
    work();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return seconds;
}

// With none, 0.1 %, 1 % and 5 % of the nodes lost, at random.
void time_planner(Records& records) {
  constexpr std::uint32_t kNodes = 10'000;
  const cairn::Layout layout = large_layout(kNodes, 10);
  for (const std::uint32_t lost_nodes : {0U, 10U, 100U, 500U}) {
    const auto lost = sample_nodes(kNodes, lost_nodes, 1);
    const std::vector<std::uint32_t> hint(lost.begin(), lost.end());
    for (const std::uint32_t snapshots : {1U, 50U}) {
      const cairn::Inventory inventory = inventory_after(layout, snapshots, lost);
      const std::string job = fmt::format("100000 ranks on {} nodes, {} snapshots, {:g} % nodes lost", kNodes,
                                          snapshots, 100.0 * lost_nodes / kNodes);
      bool whole = true;
      const auto plan = [&](const std::vector<std::uint32_t>& lost_hint) {
        whole &= cairn::make_plan({inventory, layout, {}, lost_hint, {}, {}}).has_value();
      };
      const auto without = timed([&] { plan({}); });
      const auto with = timed([&] { plan(hint); });
      const std::string end = whole ? "" : ", not whole";
      records.seconds("plan, " + job + end, without);
      records.seconds("plan with failure topology, " + job + end, with);
      if (lost_nodes != 0) continue;
      records.seconds("levels of all snapshots, " + job, timed([&] { (void)inventory.levels_reached(); }));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::ofstream file;
  if (argc > 1) file.open(argv[1], std::ios::app);
  if (argc > 1 && !file) {
    std::cerr << "bench-scaling: " << argv[1] << " cannot be written\n";
    return 1;
  }
  Records records(argc > 1 ? file : std::cout);
  try {
    const auto most_ranks = static_cast<std::uint32_t>(argc > 2 ? std::stoul(argv[2]) : 256);
    const auto most_nodes = static_cast<std::uint32_t>(argc > 3 ? std::stoul(argv[3]) : 256);
    time_planner(records);
    count_inventories(records);
    count_plans(records, most_nodes);
    count_global(records, most_ranks);
    count_jobs(records, most_ranks);
  } catch (const std::exception& error) {
    std::cerr << "bench-scaling: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
