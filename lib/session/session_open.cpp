#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "comm/share.hpp"
#include "format/sealer.hpp"
#include "session/session_impl.hpp"
#include "session/stop_signal.hpp"

namespace cairn {

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

namespace {

Result<Config> share_config(Comm& world, const std::string& file) {
  auto source = share_config_source(world, file);
  if (!source) return fail(source.error());
  return parse_config(*source);
}

Result<Topology> share_topology(const Environment& environment, const Config& config) {
  Comm& world = environment.world;
  if (environment.repaired) return make_topology(environment.repaired->seats, config.head.mode);
  auto hosts = share_hosts(world, environment.host);
  if (!hosts) return fail(hosts.error());
  return make_topology(*hosts, config.topology.node_size, config.head.mode);
}

Result<Topology> topology_of(const Environment& environment, const Config& config) {
  auto topology = share_topology(environment, config);
  if (!topology) return topology;
  if (config.topology.domains.empty()) return topology;
  if (auto status = assign_domains(*topology, config.topology.domains_text); !status) return fail(status.error());
  return topology;
}

// Every rank has the same topology, and so the same answer.
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

EngineOptions engine_options(const Config& config, const Topology& topology, NodeId node) {
  EngineOptions options;
  options.job = config.job.name;
  options.wishes = {config.partner.copies,
                    config.partner.rotation,
                    config.erasure.group,
                    config.erasure.parity,
                    config.levels.wanted(),
                    config.levels.insisted,
                    false};
  options.keep.at[0] = config.storage.keep_local;
  options.keep.at[1] = config.partner.rotation;
  options.keep.at[3] = config.storage.keep_global;
  if (config.restart.mode == Config::Restart::Mode::fresh) options.start = EngineOptions::Start::fresh;
  if (config.restart.mode == Config::Restart::Mode::required) options.start = EngineOptions::Start::required;
  options.finished_at_end = config.restart.at_end == Config::Restart::AtEnd::finished;
  options.verify_own = config.restart.verify == Config::Restart::Verify::sha256 || !config.integrity.key_file.empty();
  options.log_storage_errors = config.job.on_storage_error == Config::Job::OnStorageError::continue_;
  options.level_by_level = !config.restart.use_failure_topology;
  options.threads = config.head.threads;
  if (options.threads == 0) options.threads = threads_of_head(topology, node, usable_processors());
  return options;
}

// Each process has its own answer, from its own MPI_Init.
Status threads_allowed(const Environment& environment) {
  if (environment.threads_may_communicate) return {};
  return fail(
      Code::config, "[head] mode = thread needs MPI_THREAD_MULTIPLE",
      "call MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) instead of MPI_Init, or set mode = rank");
}

}  // namespace

// Opening, step by step. Every step is taken by all ranks, or by none.
struct SessionImpl::Open {
  const Environment& environment;
  SessionImpl& session;
  NodeId node{};
  bool heads_node = false;  // this process acts for its node
  bool computes = false;
  Sealer sealer = {};  // where this process acts for its node

  Status communicators() {
    Comm& world = environment.world;
    const std::uint32_t me = world.rank().value;
    node = session.topology_.node_of_world[me];
    heads_node = session.topology_.nodes[node.value].head.value == me;
    computes = !session.topology_.is_dedicated_head(world.rank());
    const auto split = [&](std::unique_ptr<Comm>& into, bool member, bool heads) -> Status {
      // Nodes are numbered by their lowest rank, so the order of heads must be said; application ranks keep the
      // world's.
      const std::uint32_t key = heads ? node.value : 0;
      auto made = world.split(member ? std::optional<std::uint32_t>(0) : std::nullopt, key);
      if (!made) return fail(made.error());
      into = std::move(*made);
      return {};
    };
    Status status = split(session.control_, true, false);
    if (status) status = split(session.ranks_, computes, false);
    if (status) status = split(session.heads_, heads_node, true);
    if (status) status = split(session.votes_, heads_node, true);
    return agree(world, status, "world rank");
  }

  Status stores() {
    auto local = environment.open_local(session.config_, session.topology_, node);
    if (!local) return fail(local.error());
    session.local_ = std::move(*local);
    if (!heads_node) return {};
    auto global = environment.open_global(session.config_);
    if (!global) return fail(global.error());
    session.global_ = std::move(*global);
    return read_key();
  }

  // Each head reads it for itself: it is in no message, and in no process that needs none.
  Status read_key() {
    auto made = make_sealer(session.config_.integrity.key_file, session.config_.job.name);
    if (!made) return fail(made.error().in("[integrity] key_file"));
    sealer = std::move(*made);
    return {};
  }

  // Nodes with different keys would refuse each other's files one by one, and late.
  Status compare_keys() {
    if (session.config_.integrity.key_file.empty()) return {};
    Status same;
    if (heads_node) {
      ByteWriter mine;
      mine.put(sealer.key_mark());
      const auto first = session.heads_->broadcast(mine.bytes(), Peer{0});
      if (!first) return fail(first.error());
      if (*first != mine.bytes()) {
        same = fail(Code::config,
                    fmt::format("[integrity] key_file = {}: node {} has another key there than node 0",
                                session.config_.integrity.key_file, node.value),
                    "give all nodes the same file");
      }
    }
    return agree(environment.world, same, "world rank");
  }

  // Before the ranks agree that the stores are there: nobody has opened the session by then, so that no rank's mark of
  // this session is replaced, and every mark of an earlier one is.
  void mark(const Status& status) const {
    if (!environment.leave_mark || environment.world.rank().value != 0) return;
    environment.leave_mark({status ? CompletionMark::Kind::opened : CompletionMark::Kind::none, {}});
  }

  EngineSetup setup() {
    FailureTopology failures;
    std::shared_ptr<StoreMemory> memory;
    if (session.config_.restart.use_failure_topology) {
      failures = environment.failures;
      memory = environment.memory;
    }
    return {*session.control_,
            *session.heads_,
            *session.votes_,
            session.topology_,
            engine_options(session.config_, session.topology_, node),
            session.local_,
            session.global_,
            sealer,
            failures,
            session.log_,
            session.trace_,
            memory,
            session.clock_};
  }

  // Who this process is in a trace; a rank may act for its node besides.
  void trace() {
    TraceProcess process = TraceProcess::of_head(node, environment.host);
    if (computes) {
      process = TraceProcess::of_rank(Rank{session.ranks_->rank().value}, environment.host);
      if (heads_node) process.name += ", " + TraceProcess::of_head(node, {}).name;
    }
    session.trace_ = Trace(session.config_.log.trace, std::move(process), session.log_);
    session.trace_.name_thread(computes ? "application" : "head");
  }

  Status serve() {
    auto engine = Engine::open(setup());
    if (!engine) return fail(engine.error());
    return (*engine)->serve();
  }

  // Where this process acts for its node besides.
  void start_engine() {
    EngineSetup mine = setup();
    if (session.topology_.mode == HeadMode::thread) {
      try {
        session.engine_thread_ = std::thread([mine]() mutable {
          mine.trace.name_thread("head");
          auto engine = Engine::open(mine);
          if (engine) (void)(*engine)->serve();
        });
        return;
      } catch (const std::system_error& error) {
        mine.unable = Error{Code::io, fmt::format("node {}: no thread for its head: {}", node.value, error.what()), {}};
      }
    }
    auto engine = Engine::open(mine);
    if (engine) session.engine_ = std::move(*engine);
  }

  // A head that computes hears nothing meanwhile, and one rank of its node says so for all.
  void tell_of_silent_head() {
    const Node& here = session.topology_.nodes[node.value];
    const std::uint32_t me = session.ranks_->rank().value;
    if (!session.topology_.runs_inline(node) || here.ranks.size() < 2 || here.ranks[1].value != me) return;
    session.link_->on_silent_head([log = session.log_, me, head = here.ranks[0].value, node = node.value](
                                      const std::string& call, std::chrono::seconds waited) {
      log.warning("rank {} has waited {} s in {}; not in a Cairn call: rank {}, the head of node {}", me,
                  waited.count(), call, head, node);
    });
  }

  // The first words with the head.
  Status hello() {
    const auto& topology = session.topology_;
    const Peer head = topology.nodes[node.value].head;
    const auto span = session.trace_.span("open");
    HeadLink::Drive drive;
    if (heads_node && topology.runs_inline(node)) {
      drive = [impl = &session] {
        return impl->engine_ ? impl->engine_->step(Engine::Heads::compute) : Result<bool>(false);
      };
    }
    session.link_ = std::make_unique<HeadLink>(*session.control_, head, std::move(drive), session.clock_);
    tell_of_silent_head();
    // What this rank alone cannot do is said in its first word. From then on it leaves with all, or stays with all.
    auto bell = session.local_->bell();
    Hello first;
    if (!bell) first.error = bell.error();
    if (auto status = session.link_->send(first); !status) return status;
    if (heads_node) start_engine();
    auto heard = session.link_->wait_until([&] { return session.link_->opened.has_value(); }, {"open()"});
    if (!heard) return fail(heard.error());
    const Opened& opened = *session.link_->opened;
    if (opened.error) return fail(*opened.error);
    session.link_->use_bell(std::move(*bell));
    session.incarnation_ = opened.incarnation;
    session.trace_.begin(opened.incarnation);
    session.run_ = opened.run;
    session.last_version_ = opened.last_version;
    session.usable_ = opened.usable;
    session.slots_ = opened.slots;
    return {};
  }

  void schedule() {
    session.rank_ = Rank{session.ranks_->rank().value};
    session.warmer_.emplace(session.local_, session.rank_);
    if (session.rank_.value == 0) session.leave_mark_ = environment.leave_mark;
    session.schedule_ = std::make_unique<Schedule>(session.config_.levels, session.usable_);
    session.auto_ =
        AutoLevels::make(session.config_, session.usable_, session.incarnation_, session.link_->opened->measured);
    if (session.schedule_->timed() || session.auto_ || session.config_.restart.stop_signal) {
      session.pulse_ = std::make_unique<Pulse>(*session.ranks_, session.clock_);
    }
  }
};

Result<std::unique_ptr<SessionImpl>> SessionImpl::open(const Environment& environment) {
  const auto& repaired = environment.repaired;
  auto config = repaired ? Result<Config>(repaired->config) : share_config(environment.world, environment.config_file);
  if (!config) return fail(config.error());
  if (!repaired && config->recovery.mode != Config::Recovery::Mode::restart) {
    return fail(Code::config, "[recovery] mode: a session that is opened by itself cannot be repaired",
                "use cairn::run or cairn_init, or set mode = restart");
  }
  if (environment.world.rank().value == 0) {
    const Log log(config->log.level);
    for (const std::string& warning : config->warnings) log.warning("{}", warning);
  }
  auto topology = topology_of(environment, *config);
  if (!topology) return fail(topology.error());
  if (config->head.mode == HeadMode::thread) {
    if (auto status = agree(environment.world, threads_allowed(environment), "world rank"); !status)
      return fail(status.error());
  }

  if (auto status = check_started(*topology, environment.started); !status) return fail(status.error());
  if (environment.goes_on && config->restart.mode == Config::Restart::Mode::fresh)
    config->restart.mode = Config::Restart::Mode::automatic;

  // Heads, too: launchers hand the signal to every rank, and it would kill one that does not watch for it.
  if (config->restart.stop_signal) StopSignal::watch();
  std::unique_ptr<SessionImpl> session(new SessionImpl(std::move(*config)));
  session->topology_ = std::move(*topology);
  session->clock_ = environment.clock;
  session->recoverable_ = repaired.has_value();
  Open open{environment, *session};
  if (auto status = open.communicators(); !status) return fail(status.error());
  open.trace();
  const auto stores = open.stores();
  open.mark(stores);
  if (auto status = agree(environment.world, stores, "world rank"); !status) return fail(status.error());
  if (auto status = open.compare_keys(); !status) return fail(status.error());
  if (!open.computes) {
    auto status = open.serve();
    if (!status) return fail(status.error());
    return nullptr;
  }
  if (auto status = open.hello(); !status) {
    session->finalized_ = true;  // nobody is listening
    return fail(status.error());
  }
  open.schedule();
  return session;
}

}  // namespace cairn
