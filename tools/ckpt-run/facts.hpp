// Facts about this machine and its MPI that a launch depends on. read_launcher() is pure; learn_facts() runs the
// launcher's own programs, each for a few seconds at most.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "options.hpp"
#include "topology/host_name.hpp"

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
  std::string preload;                   // LD_PRELOAD of the ranks; empty: as it is
};

// The hosts in such a file, in its order: the first word of each line, each once.
[[nodiscard]] std::vector<std::string> hosts_in(std::istream& file);

// From `mpirun --version` (or srun's) and, with Open MPI, `ompi_info --parsable`.
[[nodiscard]] cairn::Result<Facts> read_launcher(std::string_view version, std::string_view ompi_info);

// Whether a launcher's exit code may mean that a user or the kernel has killed a rank, by SIGKILL or SIGTERM: it is 128
// + the signal's number, or, with Hydra, that number alone.
[[nodiscard]] bool may_be_of_a_kill(LauncherKind kind, int code);
// Whether the code may mean that this signal has ended a rank.
[[nodiscard]] bool may_be_of(LauncherKind kind, int code, int signal);
// Whether the code may mean a failure of the launcher itself, and say nothing about the ranks. That is 255 of Hydra: it
// means that Hydra cannot start the program, or that one of its assertions failed because a rank died while it was
// being started.
[[nodiscard]] bool may_be_its_own(LauncherKind kind, int code);

// A program that came with the launcher: beside it, where it was named by a path.
[[nodiscard]] std::string beside(const std::string& launcher, const std::string& program);

using cairn::same_host;

// Of this host, as the system has it.
[[nodiscard]] std::string host_name();

[[nodiscard]] bool is_this_host(const Facts& facts, std::string_view host);

// The launcher's name for this host: Slurm leaves out the domain.
[[nodiscard]] std::string name_of_this_host(const Facts& facts);

// An error if there is no such launcher, or it is not one that ckpt-run knows.
[[nodiscard]] cairn::Result<Facts> learn_facts(const Options& options);

}  // namespace ckpt_run
