#include "support/scaling.hpp"

#include <algorithm>
#include <chrono>
#include <string>

#include <fmt/format.h>

#include "support/head_cluster.hpp"
#include "support/job.hpp"
#include "support/large_layout.hpp"

namespace cairn::test {
namespace {

// The signal's flag, and snapshots that heads ask for, would travel with a reduction now and then; they are off, as is
// what goes by the clock.
std::string settings_for(LevelSet levels) {
  const auto every = [&](LevelId level) { return levels.has(level) ? "every 1" : "off"; };
  return fmt::format(
      "[storage]\nkeep_local = 1\n[levels]\nl1 = every 1\nl2 = {}\nl3 = {}\nl4 = {}\n"
      "[erasure]\ngroup = 8\nparity = 1\n[restart]\nat_end = continue\nstop_signal = off\n[localize]\nact = tell\n",
      every(LevelId::partner), every(LevelId::erasure), every(LevelId::global));
}

Job make_job(const JobShape& shape, LevelSet levels) {
  Job job(std::vector<std::uint32_t>(shape.nodes, shape.ranks_per_node), settings_for(levels));
  job.limit = std::chrono::seconds(300);
  return job;
}

void take_snapshots(JobSession& session, std::uint32_t count) {
  std::uint64_t state = session.rank();
  session.protect("state", state);
  for (std::uint32_t i = 0; i < count; ++i) {
    session.snapshot();
    for (const LevelId level : kAllLevels) session.wait(level);
  }
}

Traffic difference(const Traffic& with, const Traffic& without) {
  return {with.messages - without.messages,
          with.message_bytes - without.message_bytes,
          with.received - without.received,
          with.received_bytes - without.received_bytes,
          with.collectives - without.collectives,
          with.collective_bytes - without.collective_bytes,
          with.gathered_bytes - without.gathered_bytes};
}

Traffic most(const Traffic& a, const Traffic& b) {
  return {std::max(a.messages, b.messages),
          std::max(a.message_bytes, b.message_bytes),
          std::max(a.received, b.received),
          std::max(a.received_bytes, b.received_bytes),
          std::max(a.collectives, b.collectives),
          std::max(a.collective_bytes, b.collective_bytes),
          std::max(a.gathered_bytes, b.gathered_bytes)};
}

// The head is the highest rank of its node.
Busiest busiest(const JobShape& shape, const std::vector<Traffic>& with, const std::vector<Traffic>& without) {
  Busiest busiest;
  for (std::uint32_t rank = 0; rank < with.size(); ++rank) {
    const bool is_head = rank % shape.ranks_per_node == shape.ranks_per_node - 1;
    Traffic& role = is_head ? busiest.head : busiest.rank;
    role = most(role, difference(with[rank], without[rank]));
  }
  return busiest;
}

StoreContents contents_of_node(const Layout& layout, NodeId node, std::uint32_t snapshots) {
  StoreContents contents;
  for (std::uint32_t version = 1; version <= snapshots; ++version) {
    Holding holding{layout, node, std::vector<ShardEntry>{}, PartnerHolding{}, ErasureHolding{}};
    contents.manifests.push_back({{{1}, {version}, {77}}, version, {std::move(holding)}});
  }
  return contents;
}

// A job whose newest snapshot is safe at L1 to L3.
Job interrupted_job(const JobShape& shape) {
  Job job = make_job(shape, level_set({LevelId::partner, LevelId::erasure}));
  job.run([](JobSession& session) { take_snapshots(session, 1); });
  return job;
}

std::vector<Traffic> traffic_of_restart(Job& job, bool restore) {
  job.run([&](JobSession& session) {
    std::uint64_t state = 0;
    session.protect("state", state);
    if (restore) session.restore();
  });
  return job.traffic();
}

}  // namespace

JobShape shape_of(std::uint32_t ranks) {
  const std::uint32_t ranks_per_node = std::clamp(ranks / 4, 2U, 8U);
  return {ranks / ranks_per_node, ranks_per_node};
}

Busiest count_snapshot(const JobShape& shape, LevelId level) {
  constexpr std::uint32_t kFirst = 2;  // from here on each snapshot retires one
  const auto run = [&](std::uint32_t count) {
    Job job = make_job(shape, level_set({level}));
    job.run([&](JobSession& session) { take_snapshots(session, count); });
    return job.traffic();
  };
  return busiest(shape, run(kFirst + 1), run(kFirst));
}

Busiest count_restore(const JobShape& shape, std::uint32_t lost) {
  Job job = interrupted_job(shape);
  for (std::uint32_t node = 0; node < lost; ++node) job.lose(node);
  const auto image = job.image();
  const auto without = traffic_of_restart(job, false);
  job.put_back(image);
  return busiest(shape, traffic_of_restart(job, true), without);
}

Busiest count_open_and_finalize(const JobShape& shape) {
  Job job = interrupted_job(shape);
  const auto traffic = traffic_of_restart(job, false);
  return busiest(shape, traffic, std::vector<Traffic>(traffic.size()));
}

InventoryCount count_inventory(std::uint32_t nodes, std::uint32_t snapshots) {
  const Layout layout = large_layout(nodes, 1);
  const ThreadWorld world(nodes);
  run_cluster(world, [&](Comm& heads) {
    const StoreContents contents = contents_of_node(layout, NodeId{heads.rank().value}, snapshots);
    if (!gather_inventory(heads, contents, layout)) world.kill();
  });
  InventoryCount count;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    const Traffic traffic = world.traffic(Peer{node});
    auto& bytes = node == 0 ? count.bytes_given_by_one : count.bytes_given;
    bytes = std::max(bytes, traffic.collective_bytes + traffic.message_bytes);
    count.collectives = std::max(count.collectives, traffic.collectives);
    count.messages = std::max(count.messages, traffic.messages);
  }
  return count;
}

}  // namespace cairn::test
