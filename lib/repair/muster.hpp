// Which processes of this host have joined a repair. A live process that does not join within the limit is killed and
// then replaced; before that, it prints its stack ([recovery] straggler_limit). Such a rank may block in an MPI call
// that waits for a process that has already joined, because nobody has revoked its communicator.
//
// One thread. Local: nothing waits.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "mpi/host_processes.hpp"
#include "mpi/ulfm_comm.hpp"

namespace cairn {

class Muster {
 public:
  struct Channel {
    UlfmComm::Ptr pool;   // revoked when a repair begins
    UlfmComm::Ptr words;  // the same members; not revoked before all have joined
  };
  struct Neighbour {
    std::uint32_t number = 0;  // in both
    ProcessId process;
    std::string name;
    bool has_joined = false;
    std::optional<std::chrono::steady_clock::time_point> ended = std::nullopt;
  };
  // `host` must outlive it.
  Muster(HostProcesses& host, Channel channel, std::vector<Neighbour> neighbours, std::chrono::milliseconds limit,
         Log log);

  // This process joins, or waits at a place where only other processes can delay it: notifies its neighbours.
  void join();
  // To be called repeatedly after join(). After the limit, one of the processes that have joined kills those that have
  // not.
  void look();

 private:
  using Clock = std::chrono::steady_clock;
  void receive();
  void end(Neighbour& straggler) const;

  HostProcesses& host_;
  Channel channel_;
  std::vector<Neighbour> neighbours_;
  std::chrono::milliseconds limit_;
  Log log_;
  bool joined_ = false;
  Clock::time_point next_look_{};
  std::optional<Clock::time_point> called_;  // when this process detected the repair
};

}  // namespace cairn
