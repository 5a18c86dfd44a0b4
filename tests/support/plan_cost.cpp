#include "support/plan_cost.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <variant>

#include <fmt/format.h>

#include "engine/engine.hpp"
#include "recover/chain.hpp"
#include "store/names.hpp"
#include "store/posix/posix_store.hpp"
#include "support/sample_shard.hpp"
#include "support/store_image.hpp"
#include "support/temp_directory.hpp"
#include "support/thread_cluster.hpp"

namespace cairn::test {
namespace {

using Clock = std::chrono::steady_clock;

Topology one_rank_a_node(std::uint32_t nodes) {
  std::vector<std::string> hosts;
  for (std::uint32_t node = 0; node < nodes; ++node) hosts.push_back(fmt::format("host{}", node));
  return make_topology(hosts, {}, HeadMode::thread).value();
}

EngineOptions options_of(const Search& search) {
  EngineOptions options;
  options.wishes.for_copies = LayoutWishes::Wish::where_possible;
  options.wishes.for_parity = LayoutWishes::Wish::where_possible;
  options.level_by_level = !search.topology;
  return options;
}

Layout layout_of(std::uint32_t nodes) {
  return decide_layout(one_rank_a_node(nodes), options_of({}).wishes).value().layout;
}

// Nodes of the first group, so many that the level is the lowest that can give them back: with one copy, on the next
// node, and two nodes' parity.
Losses losses_for(LevelId needed) {
  Losses lost;
  for (std::uint32_t node = 0; node + 1 < static_cast<std::uint32_t>(needed); ++node) lost.insert(node);
  return lost;
}

std::string last_part(const std::string& path) { return path.substr(path.find('/') + 1); }

// The stores of a cluster as they are, or files on tmpfs that hold the same.
class Stores {
 public:
  Stores(HeadCluster& cluster, StoreKind kind) : cluster_(cluster), global_(cluster.shared_global()) {
    const std::uint32_t nodes = cluster.layout().nodes;
    for (std::uint32_t node = 0; node < nodes; ++node) stores_.push_back(cluster.shared_store(node));
    if (kind == StoreKind::memory) return;
    directory_.emplace("/dev/shm");
    for (std::uint32_t node = 0; node < nodes; ++node)
      stores_[node] = in_files(fmt::format("node{}", node), stores_[node]);
    global_ = in_files("global", global_);
  }

  [[nodiscard]] const std::shared_ptr<Store>& of(NodeId node) const { return stores_[node.value]; }
  [[nodiscard]] const std::shared_ptr<Store>& global() const { return global_; }

  // Ranks whose shard is not in the store of their node as they wrote it.
  [[nodiscard]] std::vector<std::uint32_t> wrong_ranks() const {
    for (std::uint32_t node = 0; directory_ && node < stores_.size(); ++node) {
      put_back(cluster_.store(node), image_of(*stores_[node]));
    }
    return cluster_.wrong_ranks();
  }

 private:
  [[nodiscard]] std::shared_ptr<Store> in_files(const std::string& name, const std::shared_ptr<Store>& store) const {
    auto files = PosixStore::open(directory_->path() + "/" + name, "job").value();
    write_image(*files, image_of(*store));
    return files;
  }

  HeadCluster& cluster_;
  std::optional<TempDirectory> directory_;
  std::vector<std::shared_ptr<Store>> stores_;
  std::shared_ptr<Store> global_;
};

// One failure and the way back from it.
class Return {
 public:
  Return(HeadCluster& cluster, StoreKind kind, const Losses& lost, const Search& search)
      : stores_(cluster, kind),
        lost_(lost),
        search_(search),
        topology_(one_rank_a_node(cluster.layout().nodes)),
        world_(cluster.layout().nodes),
        costs_(cluster.layout().nodes) {}

  [[nodiscard]] PlanCost take() {
    run_cluster(
        world_, [&](Comm& world) { return_on(world); }, std::chrono::seconds(600));
    PlanCost most;
    for (const PlanCost& one : costs_) add(most, one);
    most.seconds = std::chrono::duration<double>(Clock::duration(end_.load() - start_.load())).count();
    most.wrong_ranks = stores_.wrong_ranks();
    most.copies_opened = copies_opened_;
    most.parity_opened = parity_opened_;
    return most;
  }

 private:
  static void raise(std::uint64_t& most, std::uint64_t one) { most = std::max(most, one); }
  static void raise(Readings& most, const Readings& one) {
    raise(most.lists, one.lists);
    raise(most.opens, one.opens);
    raise(most.reads, one.reads);
    raise(most.bytes, one.bytes);
  }
  static void add(PlanCost& most, const PlanCost& one) {
    raise(most.traffic.messages, one.traffic.messages);
    raise(most.traffic.message_bytes, one.traffic.message_bytes);
    raise(most.traffic.collectives, one.traffic.collectives);
    raise(most.traffic.collective_bytes, one.traffic.collective_bytes);
    raise(most.traffic.gathered_bytes, one.traffic.gathered_bytes);
    raise(most.own, one.own);
    raise(most.global, one.global);
  }
  // The earliest of all.
  static void note_now(std::atomic<Clock::rep>& earliest) {
    const auto now = Clock::now().time_since_epoch().count();
    auto was = earliest.load();
    while (now < was && !earliest.compare_exchange_weak(was, now)) {
    }
  }

  // What this process knows of its node's store from before.
  [[nodiscard]] std::shared_ptr<StoreMemory> memory_of(NodeId node) {
    auto memory = std::make_shared<StoreMemory>();
    if (search_.same_process && !read_store(*stores_.of(node), node, Log::silent(), *memory, {})) {
      world_.kill();
    }
    return memory;
  }

  void return_on(Comm& world) {
    const Peer me = world.rank();
    const NodeId node{me.value};
    const auto heads = world.split(0, 0);
    if (!heads) return;
    const auto place_for_data = [this](const HookedStore::Operation& operation) -> Status {
      const bool creates = operation.kind == HookedStore::Operation::Kind::create;
      if (creates && names::parse_shard(last_part(operation.path))) note_now(end_);
      return {};
    };
    const auto own = std::make_shared<CountingStore>(stores_.of(node), place_for_data);
    own->on_open = [this](const FileName& name) {
      if (names::parse_copy(last_part(name.path))) ++copies_opened_;
      if (names::parse_parity(last_part(name.path))) ++parity_opened_;
    };
    const auto global = std::make_shared<CountingStore>(stores_.global());
    FailureTopology failures;
    if (search_.topology) failures.lost_nodes.assign(lost_.begin(), lost_.end());
    EngineSetup setup{world,
                      **heads,
                      topology_,
                      options_of(search_),
                      own,
                      global,
                      {},
                      failures,
                      Log::silent(),
                      {},
                      memory_of(node),
                      [] { return std::chrono::microseconds(0); }};
    if (!world.send(me, kToHead, encode(ToHead{Hello{}})) || !(*heads)->barrier()) return;
    const Traffic before = world_.traffic(me);
    note_now(start_);
    auto engine = Engine::open(setup);
    if (!engine) throw std::runtime_error(engine.error().text());
    PlanCost& cost = costs_[me.value];
    cost.traffic = difference(world_.traffic(me), before);
    --cost.traffic.collectives;  // the communicator for votes, which is made when the ranks have their answer
    cost.own = own->readings();
    cost.global = global->readings();
    bring_home(world, **engine);
  }

  void bring_home(Comm& world, Engine& engine) {
    if (!world.send(world.rank(), kToHead, encode(ToHead{RestoreRequest{}}))) return;
    while (true) {
      const auto worked = engine.step(Engine::Heads::serve);
      if (!worked) throw std::runtime_error(worked.error().text());
      while (const auto envelope = world.probe(kToRank).value_or(std::nullopt)) {
        const auto message = decode_to_rank(world.recv_probed(*envelope).value()).value();
        if (const auto* done = std::get_if<RestoreDone>(&message)) throw std::runtime_error(done->error->text());
        if (std::holds_alternative<Offer>(message)) {
          if (lost_.empty()) note_now(end_);
          return;
        }
      }
      world.idle(*worked);
    }
  }

  static Traffic difference(const Traffic& after, const Traffic& before) {
    Traffic traffic;
    // A head tells its own rank that it is open.
    traffic.messages = after.messages - before.messages - 1;
    traffic.collectives = after.collectives - before.collectives;
    traffic.collective_bytes = after.collective_bytes - before.collective_bytes;
    traffic.gathered_bytes = after.gathered_bytes - before.gathered_bytes;
    return traffic;
  }

  const Stores stores_;
  const Losses& lost_;
  const Search& search_;
  const Topology topology_;
  const ThreadWorld world_;
  std::vector<PlanCost> costs_;
  std::atomic<std::uint64_t> copies_opened_{0};
  std::atomic<std::uint64_t> parity_opened_{0};
  std::atomic<Clock::rep> start_{Clock::duration::max().count()};
  std::atomic<Clock::rep> end_{Clock::duration::max().count()};
};

}  // namespace

PlanScene::PlanScene(std::uint32_t nodes, StoreKind kind)
    : cluster_(layout_of(nodes), [](std::uint32_t) { return 8; }), kind_(kind) {
  RunRecord life;
  life.incarnation = kSampleIdentity.incarnation;
  life.run = kSampleIdentity.run;
  life.parent = RunRecord::Parent::fresh;
  life.snapshots = true;
  if (auto status = write_run_record(cluster_.global(), life, {}); !status)
    throw std::runtime_error(status.error().text());
  cluster_.protect(level_set({LevelId::partner, LevelId::erasure, LevelId::global}));
}

PlanCost PlanScene::cost(LevelId needed, const Search& search) {
  const Losses lost = losses_for(needed);
  cluster_.put_back();
  cluster_.lose(lost);
  return Return(cluster_, kind_, lost, search).take();
}

}  // namespace cairn::test
