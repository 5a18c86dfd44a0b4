// A whole job in one process: application ranks and heads as threads, a store for each node and a global one that
// outlive the run, as disks outlive a job. Nodes can be lost between runs, stores can be given faults.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <cairn/failure_topology.hpp>
#include <cairn/session_base.hpp>

#include "base/host_state.hpp"
#include "comm/thread_comm.hpp"
#include "level/levels.hpp"
#include "recover/store_memory.hpp"
#include "session/environment.hpp"
#include "session/handover.hpp"
#include "store/memory/memory_store.hpp"
#include "support/facts.hpp"
#include "support/faulty_comm.hpp"
#include "support/store_image.hpp"
#include "support/thread_cluster.hpp"

namespace cairn::test {

// A session that a test may make from its parts.
class JobSession final : public SessionBase {
 public:
  JobSession(std::unique_ptr<SessionImpl> impl, ThreadWorld world);
  // The whole job dies here and now, as by SIGKILL of all: no rank can communicate any more.
  void kill_job() { world_.kill(); }
  using SessionBase::impl;

 private:
  ThreadWorld world_;
};

class Job {
 public:
  // `ranks`: world ranks of each node, head included. `settings`: lines of an INI file; job name, sizes of nodes,
  // quiet log and, where [head] does not begin with mode, mode = rank are added.
  Job(std::vector<std::uint32_t> ranks, std::string settings);

  // Runs `application` on every application rank, as cairn::run would, and finalizes. What a rank throws is thrown
  // here, after all have ended; it is also in errors().
  void run(const std::function<void(JobSession&)>& application);
  // The same without finalize, and with the job killed when the last rank has left `application` or has thrown: what is
  // not safe by then is lost. Throws nothing.
  void run_and_die(const std::function<void(JobSession&)>& application);

  // What application ranks threw in the last run, by rank; by world rank, where no session was opened.
  [[nodiscard]] const std::map<std::uint32_t, Failure>& errors() const { return errors_; }
  // What went wrong in the last run, rather than what it did to the others.
  [[nodiscard]] std::optional<Failure> cause() const;
  // The first that a rank or head met in the last run, before it had a session.
  [[nodiscard]] const std::optional<Failure>& open_error() const { return open_error_; }

  // The same, for a run in which nothing should go wrong: expects that every rank got to the end of `application`.
  void run_well_and_die(const std::function<void(JobSession&)>& application);

  // Its store, and what its processes remember of that. A host has the number of its node, but for reshape().
  void lose(std::uint32_t host);
  [[nodiscard]] MemoryStore& node_store(std::uint32_t host) { return *stores_.at(host); }
  [[nodiscard]] MemoryStore& global_store() { return *global_; }
  [[nodiscard]] std::uint32_t nodes() const { return static_cast<std::uint32_t>(ranks_.size()); }

  // All stores as they are between two runs, so that many ways to go on start from the same state.
  struct Image {
    std::vector<StoreImage> nodes;
    StoreImage global;
  };
  [[nodiscard]] Image image() const;
  void put_back(const Image& image);
  // Loses every snapshot in the global store and keeps the records of runs.
  void lose_global_snapshots();

  // The layout of the next run, and whose store each node opens: by default its own, else that of hosts[node]. Stores
  // stay (more hosts get empty ones).
  void reshape(std::vector<std::uint32_t> ranks, std::vector<std::uint32_t> hosts = {});
  // That is a store for each host of now and before.
  [[nodiscard]] std::uint32_t hosts() const { return static_cast<std::uint32_t>(stores_.size()); }
  void configure(std::string settings) { settings_ = std::move(settings); }
  // What runs see instead of a host's store or of the global one, e.g. a FaultyStore over it.
  std::function<std::shared_ptr<Store>(std::uint32_t host, std::shared_ptr<Store>)> wrap_node;
  std::function<std::shared_ptr<Store>(std::shared_ptr<Store>)> wrap_global;
  // What ckpt-run would say, and be told.
  std::optional<StartedNumbers> started;
  bool goes_on = false;
  bool has_ended = false;
  // A job whose lost ranks could be replaced, as under cairn::run.
  bool can_be_repaired = false;
  // Whether local rollback is there then, if Cairn was built with it.
  bool has_local_rollback = true;
  LeaveMark leave_mark;
  // Whether MPI gives a world rank MPI_THREAD_MULTIPLE; empty: all of them.
  std::function<bool(std::uint32_t world_rank)> threads_may_communicate;
  // What a world rank's clock shows; empty: 0 for ever.
  std::function<std::chrono::microseconds(std::uint32_t world_rank)> clock;
  // When set, all ranks and heads communicate under this plan, and the job is killed when it first fails.
  std::shared_ptr<CommFaultPlan> message_faults;
  FailureTopology failures;
  // Whether runs follow each other in the same processes, whose heads remember what their stores hold.
  bool same_processes = false;
  // The table of levels of each head.
  std::function<Levels()> levels = make_levels;
  // What heads see of their hosts; not this machine, which may have much to do.
  LookAtHost look_at_host = [] { return HostState{}; };
  std::string log_level = "error";
  std::chrono::seconds limit = kClusterLimit;  // for a run

  // What each world rank sent, received and took part in during the last run.
  [[nodiscard]] const std::vector<Traffic>& traffic() const { return traffic_; }

 private:
  void start(const std::function<void(JobSession&)>& application, bool die);
  [[nodiscard]] std::vector<std::shared_ptr<StoreMemory>> memories_by_rank();
  [[nodiscard]] RepairedWorld repaired_world(const std::string& config_file) const;

  std::vector<std::uint32_t> ranks_;
  std::vector<std::uint32_t> hosts_;  // of each node
  std::string settings_;
  std::vector<std::shared_ptr<MemoryStore>> stores_;  // by host
  std::shared_ptr<MemoryStore> global_;
  std::map<std::uint32_t, std::shared_ptr<StoreMemory>> memories_;  // by host
  std::map<std::uint32_t, Failure> errors_;
  std::vector<Traffic> traffic_;
  std::optional<Failure> open_error_;
};

// The machine's clock, for Job::clock.
[[nodiscard]] std::chrono::microseconds real_time(std::uint32_t world_rank);

// Bytes that differ from rank to rank and from version to version, of an odd length that differs too.
[[nodiscard]] std::vector<double> sample_state(std::uint32_t rank, std::uint32_t version, std::size_t about = 1000);

}  // namespace cairn::test
