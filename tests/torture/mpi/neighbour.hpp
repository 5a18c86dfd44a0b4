// Another user's job of the same name, beside the one that is played: heat, with [storage] local left at its default.
// Nothing is done to it, so its plate must be right. It needs a place that is the scenario's alone (is_apart). One
// thread.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "torture/mpi/launch.hpp"
#include "torture/mpi/starter.hpp"

namespace cairn::torture {

class Neighbour {
 public:
  explicit Neighbour(const Programs& programs);
  ~Neighbour();
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;

  // Waits for its end. What is wrong with it; empty: nothing.
  [[nodiscard]] std::string end();

 private:
  Programs programs_;
  std::filesystem::path home_;
  std::unique_ptr<Launch> launch_;
};

}  // namespace cairn::torture
