#include "support/job.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <fstream>
#include <mutex>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "rollback/repairs.hpp"
#include "session/exception.hpp"
#include "session/session_impl.hpp"
#include "support/log_messages.hpp"
#include "support/temp_directory.hpp"
#include "support/unstruck_host.hpp"

namespace cairn::test {

JobSession::JobSession(std::unique_ptr<SessionImpl> impl, ThreadWorld world)
    : SessionBase(std::move(impl)), world_(std::move(world)) {}

Job::Job(std::vector<std::uint32_t> ranks, std::string settings)
    : settings_(std::move(settings)), global_(std::make_shared<MemoryStore>(MemoryStore::kUnbounded, "global store")) {
  reshape(std::move(ranks));
}

void Job::reshape(std::vector<std::uint32_t> ranks, std::vector<std::uint32_t> hosts) {
  ranks_ = std::move(ranks);
  hosts_ = std::move(hosts);
  if (hosts_.empty()) {
    hosts_.resize(ranks_.size());
    std::iota(hosts_.begin(), hosts_.end(), 0U);
  }
  while (stores_.size() <= std::ranges::max(hosts_)) {
    stores_.push_back(
        std::make_shared<MemoryStore>(MemoryStore::kUnbounded, fmt::format("store of node {}", stores_.size())));
  }
}

void Job::lose(std::uint32_t host) {
  stores_.at(host)->wipe();
  memories_.erase(host);
}

// One for each world rank of a node, though only that of its head is used.
std::vector<std::shared_ptr<StoreMemory>> Job::memories_by_rank() {
  std::vector<std::shared_ptr<StoreMemory>> by_rank;
  for (std::uint32_t node = 0; node < ranks_.size(); ++node) {
    auto& memory = memories_[hosts_[node]];
    if (!memory || !same_processes) memory = std::make_shared<StoreMemory>();
    by_rank.insert(by_rank.end(), ranks_[node], memory);
  }
  return by_rank;
}

Job::Image Job::image() const {
  Image image;
  for (const auto& store : stores_) image.nodes.push_back(image_of(*store));
  image.global = image_of(*global_);
  return image;
}

void Job::put_back(const Image& image) {
  for (std::size_t node = 0; node < stores_.size(); ++node)
    test::put_back(*stores_[node], node < image.nodes.size() ? image.nodes[node] : StoreImage{});
  test::put_back(*global_, image.global);
}

void Job::lose_global_snapshots() {
  StoreImage image = image_of(*global_);
  std::erase_if(image, [](const auto& file) { return file.first.find('/') != std::string::npos; });
  test::put_back(*global_, image);
}

std::optional<Failure> Job::cause() const {
  if (errors_.empty()) return {};
  const auto cause =
      std::ranges::find_if(errors_, [](const auto& error) { return error.second.kind != ErrorKind::communication; });
  return cause == errors_.end() ? errors_.begin()->second : cause->second;
}

void Job::run(const std::function<void(JobSession&)>& application) {
  start(application, false);
  if (const auto failure = cause()) throw Exception(failure->kind.value_or(ErrorKind::usage), failure->text);
}

void Job::run_and_die(const std::function<void(JobSession&)>& application) { start(application, true); }

void Job::run_well_and_die(const std::function<void(JobSession&)>& application) {
  std::atomic<std::uint32_t> ended{0};
  std::atomic<std::uint32_t> size{0};
  start(
      [&](JobSession& session) {
        size = session.size();
        application(session);
        ++ended;
      },
      true);
  for (const auto& [rank, failure] : errors_) ADD_FAILURE() << "rank " << rank << ": " << failure;
  EXPECT_TRUE(size > 0 && ended == size) << ended << " of " << size << " ranks got to the end; "
                                         << (open_error_ ? open_error_->text : "");
}

// All ranks are where they were from the start. The last of each node is its head.
RepairedWorld Job::repaired_world(const std::string& config_file) const {
  RepairedWorld world{value_or_throw(read_config_source(config_file).and_then([](const ConfigSource& source) {
                        return parse_config(source);
                      })),
                      {}};
  for (std::size_t node = 0; node < ranks_.size(); ++node)
    for (std::uint32_t i = 0; i < ranks_[node]; ++i)
      world.seats.push_back({"host", fmt::format("node{:04}", node), i + 1 == ranks_[node]});
  return world;
}

void Job::start(const std::function<void(JobSession&)>& application, bool die) {
  errors_.clear();
  open_error_.reset();
  const TempDirectory directory("/tmp");
  const std::string config = directory.path() + "/job.ini";
  // A line of the file holds only so many numbers.
  const bool equal = std::ranges::all_of(ranks_, [&](std::uint32_t size) { return size == ranks_.front(); });
  const std::vector<std::uint32_t> sizes(ranks_.begin(), equal ? ranks_.begin() + 1 : ranks_.end());
  const std::string_view head = settings_.find("[head]\nmode") == std::string::npos ? "\n[head]\nmode = rank" : "";
  std::ofstream(config) << settings_ << head << "\n[topology]\nnode_size = " << fmt::format("{}", fmt::join(sizes, ","))
                        << "\n[log]\nlevel = " << log_level << "\n";

  const std::uint32_t world_size = std::accumulate(ranks_.begin(), ranks_.end(), 0U);
  const ThreadWorld world(world_size);
  const auto memories = memories_by_rank();
  std::mutex mutex;
  std::atomic<std::uint32_t> left{0};
  std::atomic<bool> over{false};
  const auto end = [&] {
    world.kill();
    over = true;
    over.notify_all();
  };
  const auto note = [&](std::uint32_t rank, const Failure& failure) {
    const std::scoped_lock lock(mutex);
    errors_.emplace(rank, failure);
  };
  if (message_faults) message_faults->on_first_failure = [world] { world.kill(); };
  const auto body = [&](Comm& member) {
    std::optional<FaultyComm> faulty;
    if (message_faults) faulty.emplace(member, message_faults);
    Comm& comm = faulty ? static_cast<Comm&>(*faulty) : member;
    const std::uint32_t me = comm.rank().value;
    Environment environment{
        .world = comm,
        .host = "host",
        .config_file = comm.rank().value == 0 ? config : std::string(),
        .open_local = [&](const Config&, const Topology&, NodeId node) -> Result<std::shared_ptr<Store>> {
          const std::uint32_t host = hosts_.at(node.value);
          const std::shared_ptr<Store> store = stores_.at(host);
          return wrap_node ? wrap_node(host, store) : store;
        },
        .open_global = [&](const Config&) -> Result<std::shared_ptr<Store>> {
          return wrap_global ? wrap_global(global_) : std::shared_ptr<Store>(global_);
        },
        .threads_may_communicate = !threads_may_communicate || threads_may_communicate(me),
        .failures = failures,
        .clock = [this, me] { return clock ? clock(me) : std::chrono::microseconds(0); },
        .memory = memories[me],
        .leave_mark = leave_mark,
        .started = started,
        .goes_on = goes_on,
        .has_ended = [this](const Config&) { return has_ended; },
        .levels = levels};
    environment.look_at_host = look_at_host;
    UnstruckHost host;
    rollback::Repairs repairs(host);
    if (can_be_repaired) {
      environment.repaired = repaired_world(config);
      environment.repairs = &repairs;
      if (has_local_rollback) environment.logs_messages = log_messages();
    }
    auto opened = SessionImpl::open(environment);
    if (!opened) {
      Failure failure = failure_of(opened.error());
      failure.kind = kind_of(opened.error().code);
      {
        const std::scoped_lock lock(mutex);
        if (!open_error_) open_error_ = failure;
      }
      if (!die) note(comm.rank().value, failure);
      if (die) end();
      return;
    }
    if (!*opened) return;
    JobSession session(std::move(*opened), world);
    const std::uint32_t rank = session.rank();
    const std::uint32_t size = session.size();  // the application may drop its session
    try {
      application(session);
      if (!die) session.finalize();
    } catch (const std::exception& error) {
      note(rank, failure_of(error));
      // The rank is gone, and with it, as under MPI, the job.
      if (!die) world.kill();
    }
    if (!die) return;
    if (++left == size) end();
    over.wait(false);  // a session that is dropped before would be news for the others
  };
  run_cluster(world, body, limit);
  traffic_.clear();
  for (std::uint32_t rank = 0; rank < world_size; ++rank) traffic_.push_back(world.traffic(Peer{rank}));
}

std::chrono::microseconds real_time(std::uint32_t /*world_rank*/) {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch());
}

std::vector<double> sample_state(std::uint32_t rank, std::uint32_t version, std::size_t about) {
  std::vector<double> state(about + 13 * static_cast<std::size_t>(rank) + version % 7);
  for (std::size_t i = 0; i < state.size(); ++i) state[i] = rank * 1e6 + version * 1e3 + static_cast<double>(i);
  return state;
}

}  // namespace cairn::test
