// One run of a job, from its start to its end: it is struck meanwhile, and a ckpt-run that was killed is started anew.
// One thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "torture/mpi/launch.hpp"
#include "torture/mpi/places.hpp"
#include "torture/mpi/strikes.hpp"

namespace cairn::torture {

struct Run {
  const Life& life;
  const Places& places;
  std::function<std::unique_ptr<Launch>()> start;
  std::function<std::size_t()> count_beginnings;  // how often the job has come so far
  std::filesystem::path output;                   // of all launches
};

// To its end. Empty, or what is wrong with that: it did not come in time, ckpt-run did not say why it gave up, or
// something of the job is left. It is killed then.
[[nodiscard]] std::string run_struck(const Run& run, Striker& striker);

// What launchers and ckpt-runs that were killed have left, where that is this scenario's alone.
void remove_leftovers(const Places& places);

[[nodiscard]] std::string contents_of(const std::filesystem::path& path);

}  // namespace cairn::torture
