// What is true of this machine and its MPI, as far as a launch depends on it. Reading them is pure; asking for them
// runs the launcher's own programs, each for a few seconds at most.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "options.hpp"

namespace ckpt_run {

enum class LauncherKind { open_mpi, hydra, slurm };

struct Facts {
  LauncherKind kind = LauncherKind::open_mpi;
  std::uint32_t major = 0;               // version of Open MPI
  bool fault_tolerant = false;           // it has ULFM
  std::uint32_t processors = 1;          // that this process may use; other hosts are taken to have as many
  std::string host;                      // this one
  std::vector<std::string> batch_hosts;  // of the batch job that this runs in; empty: in none
  bool hosts_from_file = false;          // by a file, as PBS, LSF and Grid Engine give one, and not by Slurm
};

// The hosts in such a file, in its order: the first word of each line, each once.
[[nodiscard]] std::vector<std::string> hosts_in(std::istream& file);

// From `mpirun --version` (or srun's) and, with Open MPI, `ompi_info --parsable`.
[[nodiscard]] cairn::Result<Facts> read_launcher(std::string_view version, std::string_view ompi_info);

// Whether a launcher's exit code may come from a rank that somebody or the kernel has killed, by SIGKILL or SIGTERM: it
// is 128 + the signal's number, or, of Hydra, that number alone.
[[nodiscard]] bool may_be_of_a_kill(LauncherKind kind, int code);
// Whether it may be the launcher's own failure, and say nothing of the ranks: of Hydra 255, which it has for a program
// that it cannot start, too, and for an assertion of its own that fails when a rank dies while it is being started.
[[nodiscard]] bool may_be_its_own(LauncherKind kind, int code);

// A program that came with the launcher: beside it, where it was named by a path.
[[nodiscard]] std::string beside(const std::string& launcher, const std::string& program);

// Whether two names may be of one host: equal, or one is the other without its domain.
[[nodiscard]] bool same_host(std::string_view a, std::string_view b);

// What the launcher calls this host: Slurm leaves its domain out.
[[nodiscard]] std::string name_of_this_host(const Facts& facts);

// An error when there is no such launcher, or it is none that is known.
[[nodiscard]] cairn::Result<Facts> learn_facts(const Options& options);

}  // namespace ckpt_run
