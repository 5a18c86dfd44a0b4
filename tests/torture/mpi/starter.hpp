// How jobs are started: by mpirun or ckpt-run, with the options and variables that take. Pure.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "torture/scenario.hpp"

namespace cairn::torture {

struct Programs {
  Mpi mpi = Mpi::open_mpi;
  std::string mpirun;
  std::string program;  // torture_program
  std::string heat;
  std::string ckpt_run;
};

// `arguments` begin with the program.
[[nodiscard]] std::vector<std::string> start_command(const Programs& programs, const Life& life,
                                                     const std::filesystem::path& config,
                                                     const std::vector<std::string>& arguments);
// NAME=value. Stores are below `root`, and what is written beside them where that is `apart` from other jobs.
[[nodiscard]] std::vector<std::string> start_environment(const std::filesystem::path& root, bool apart);

}  // namespace cairn::torture
