#include "session/shared_setup.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "comm/share.hpp"

namespace cairn {
namespace {

Result<Config> config_of_world(const Environment& environment) {
  if (environment.repaired) return environment.repaired->config;
  auto source = share_config_source(environment.world, environment.config_file);
  if (!source) return fail(source.error());
  return parse_config(*source);
}

Result<Topology> topology_of_world(const Environment& environment, const Config& config) {
  if (environment.repaired) return make_topology(environment.repaired->seats, config.head.mode.value());
  auto hosts = share_hosts(environment.world, environment.host);
  if (!hosts) return fail(hosts.error());
  return make_topology(*hosts, config.topology.node_size, config.head.mode.value());
}

// Each process has its own answer, from its own MPI_Init.
Status threads_allowed(const Environment& environment) {
  if (environment.threads_may_communicate) return {};
  return fail(
      Code::config, "[head] mode = thread needs MPI_THREAD_MULTIPLE",
      "call MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) instead of MPI_Init, or set mode = rank");
}

// Each process has its own answer, from its own MPI_Init.
Result<bool> all_allow_threads(const Environment& environment) {
  std::uint64_t all = environment.threads_may_communicate ? 1 : 0;
  if (auto status = environment.world.allreduce({&all, 1}, Reduce::min); !status) return fail(status.error());
  return all == 1;
}

// Before the topology is made, whose ranks it decides on. Collective.
Status settle_head_mode(const Environment& environment, Config& config) {
  // No application rank becomes a head where none of them expects it.
  if (environment.is_part && environment.world_mode.replaced && config.head.mode == HeadMode::rank)
    config.head.mode.reset();
  if (config.head.mode) return {};
  const auto threads = all_allow_threads(environment);
  if (!threads) return fail(threads.error());
  config.head.mode = environment.is_part
                         ? HeadMode::inline_
                         : automatic_head_mode(environment.started.has_value(), *threads, config.recovery.mode);
  if (environment.world.rank().value == 0)
    Log(config.log.level)
        .info("{}", automatic_head_text(*config.head.mode, environment.world.size(),
                                        environment.is_part || environment.by_a_rank));
  return {};
}

}  // namespace

HeadMode automatic_head_mode(bool heads_on_top, bool threads, Config::Recovery::Mode recovery) {
  if (heads_on_top) return HeadMode::rank;
  return threads && recovery == Config::Recovery::Mode::restart ? HeadMode::thread : HeadMode::inline_;
}

std::string automatic_head_text(HeadMode mode, std::size_t processes, bool is_part_of_job) {
  if (mode == HeadMode::rank) return "each node has a head: snapshot() waits only for the copy to the node's store";
  const std::string_view waits =
      mode == HeadMode::thread
          ? "a thread of each node is its head: snapshot() waits only for the copy to the node's store"
          : "no heads work in the background: snapshot() waits until every level that is due is written";
  if (is_part_of_job) return std::string(waits);
  return fmt::format("{}. \"ckpt-run -n {}\" gives each node a head of its own", waits, processes);
}

Result<ConfigSource> share_config_source(Comm& world, const std::string& file) {
  Result<Buffer> mine;
  if (world.rank().value == 0)
    mine = read_config_source(file).map([](const ConfigSource& source) { return encode(source); });
  auto shared = share(world, mine, Peer{0}, "world rank");
  if (!shared) return fail(shared.error());
  return decode_config_source(*shared);
}

Result<std::vector<std::string>> share_hosts(Comm& world, const std::string& host) {
  const auto gathered = world.allgather(bytes_of(host));
  if (!gathered) return fail(gathered.error());
  std::vector<std::string> hosts;
  for (const Buffer& bytes : *gathered) hosts.emplace_back(text_of(bytes));
  return hosts;
}

Status check_started(const Topology& topology, const std::optional<StartedNumbers>& started) {
  const auto nodes = static_cast<std::uint32_t>(topology.node_count());
  const StartedNumbers here{topology.rank_count(), topology.mode == HeadMode::rank ? nodes : 0, nodes};
  if (!started || *started == here) return {};
  const auto text = [](const StartedNumbers& numbers) {
    return fmt::format("{} application ranks and {} heads on {} nodes", numbers.ranks, numbers.heads, numbers.nodes);
  };
  return fail(Code::config, fmt::format("ckpt-run started {}, and this session has {}", text(*started), text(here)),
              "give ckpt-run the INI file that the program reads (--config), and its hosts (--hosts)");
}

Result<Config> share_config(const Environment& environment) {
  auto config = config_of_world(environment);
  if (!config) return config;
  // Processes that a rank has started do not have the world that ckpt-run has given to its own.
  const bool heads = environment.by_a_rank ? config->head.mode == HeadMode::rank
                                           : environment.started && environment.started->heads > 0;
  if (auto status = check_world_mode(*config, environment.world_mode, heads, environment.is_part); !status)
    return fail(status.error());
  if (!environment.repaired && config->recovery.mode != Config::Recovery::Mode::restart) {
    return fail(Code::config, "[recovery] mode: a session from Session::open() cannot be repaired",
                "use cairn::run, or cairn_run in C, or set mode = restart");
  }
  if (environment.world.rank().value == 0) {
    const Log log(config->log.level);
    for (const std::string& warning : config->warnings) log.warning("{}", warning);
    if (environment.world_mode.replaced && !environment.is_part)
      log.info("MPI_COMM_WORLD has the application ranks only: session.comm() is the same communicator");
  }
  if (environment.served_job == config->job.name)
    return fail(Code::config, fmt::format("[job] name = {}: another session of this program has it", config->job.name),
                "finalize that one first; or give this one an INI file with another name, for snapshots of its own");
  // The head of each simulated node is not in this world.
  for (std::uint32_t& size : config->topology.node_size)
    if (environment.served_job && size > 1) --size;
  if (auto settled = settle_head_mode(environment, *config); !settled) return fail(settled.error());
  if (environment.goes_on && config->restart.mode == Config::Restart::Mode::fresh)
    config->restart.mode = Config::Restart::Mode::automatic;
  return config;
}

Result<Topology> share_topology(const Environment& environment, const Config& config) {
  auto topology = topology_of_world(environment, config);
  if (!topology) return topology;
  if (!config.topology.domains.empty()) {
    if (auto status = assign_domains(*topology, config.topology.domains_text); !status) return fail(status.error());
  }
  if (config.head.mode == HeadMode::thread) {
    if (auto status = agree(environment.world, threads_allowed(environment), "world rank"); !status)
      return fail(status.error());
  }
  if (auto status = check_started(*topology, environment.started); !status) return fail(status.error());
  return topology;
}

}  // namespace cairn
