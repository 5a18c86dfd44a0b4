// Cairn for C++ applications over MPI.
//
//   MPI_Init(&argc, &argv);
//   cairn::run(MPI_COMM_WORLD, "heat.ini", [&](cairn::Session& session) {
//     std::vector<double> plate(n * n);
//     int step = 0;
//     session.protect("plate", plate);
//     session.protect("step", step);
//     session.restore();                     // nothing to do on a fresh start
//     for (; step < steps; ++step) {
//       relax(plate, session.comm());        // the application's communicator
//       session.snapshot();                  // cheap when none is due
//     }
//   });
//   MPI_Finalize();
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <mpi.h>

#include <cairn/failure_topology.hpp>
#include <cairn/session_base.hpp>

namespace cairn {

class Session final : public SessionBase {
 public:
  // Collective over `world`. `config` is the INI file's path (empty: defaults), read on rank 0. On a dedicated
  // head rank the call serves the node until the session ends and returns nothing; on application
  // ranks it returns a session. Throws on all ranks alike.
  static std::unique_ptr<Session> open(MPI_Comm world, const std::string& config, const FailureTopology& failures = {});

  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session() override;

  // The application ranks' communicator; the session's, valid until it is destroyed.
  [[nodiscard]] MPI_Comm comm() const;

 private:
  struct Mpi;
  Session(std::unique_ptr<SessionImpl> impl, std::unique_ptr<Mpi> mpi);
  std::unique_ptr<Mpi> mpi_;
};

// Collective over `world`. Serves the heads, calls `application` on the application ranks, and finalizes the
// session when it returns. An exception that leaves `application` ends the whole job with its text, since
// the other ranks would wait for ever. What opening or finalizing finds wrong is thrown.
void run(MPI_Comm world, const std::string& config, const std::function<void(Session&)>& application);

}  // namespace cairn
