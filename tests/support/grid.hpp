// An application for tests whose state does not depend on its number of ranks: a 2-D array in blocks, particles, and a
// protocol of rank 0. What comes back is compared element by element.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <cairn/session_base.hpp>

namespace cairn::test {

// One object for one session, which must not outlive it.
class Grid {
 public:
  explicit Grid(SessionBase& session);

  // Returns the step that it goes on from, 0 at a fresh start; what came back must be the state of that step.
  std::uint32_t restore();
  // Computes a step.
  void compute();
  // Computes a step and calls snapshot().
  std::optional<std::uint32_t> advance();
  // Waits until all that is meant for any level is safe there.
  void wait_for_all();

 private:
  void expect_state() const;

  SessionBase& session_;
  std::uint32_t step_ = 0;
  std::uint64_t first_row_ = 0;
  std::vector<double> rows_;       // whole rows of the array
  std::vector<std::int64_t> ids_;  // of particles, which move to other ranks
  std::vector<float> positions_;   // two of each particle
  std::string protocol_;           // of rank 0
};

}  // namespace cairn::test
