// What the user asked for. Parsed once, constant after that.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"

namespace ckpt_run {

// Of a rehearsal.
struct Rehearsal {
  std::uint32_t kills = 3;
  double tolerance = 0;  // relative, of floating-point numbers
  std::uint64_t seed = 0;
  std::optional<std::uint64_t> calls = {};  // of snapshot(), after which each run ends; none: with the program
  std::string json = {};                    // a file for the result; empty: none
};

struct Options {
  std::uint32_t ranks = 0;                    // application ranks; heads and spares come on top
  std::optional<std::uint32_t> fewest = {};   // on hosts that are left, if some are lost; none: always `ranks`
  std::optional<std::uint32_t> spares = {};   // none: as many as [recovery] spares says
  std::vector<std::string> hosts = {};        // empty: the hosts of the batch job, or this one
  std::vector<std::string> spare_hosts = {};  // take the place of lost ones, in this order
  bool shrink_hosts = false;                  // without a spare host: go on with those that are left
  std::uint32_t max_restarts = 100;
  bool fresh_if_unrecoverable = false;
  std::string from = {};   // version or label that the job continues from; empty: as [restart] version says
  bool step_back = false;  // to an older version, if runs from the newest do not come further
  bool preload_tap = false;
  std::string config = {};  // the job's INI file; empty: defaults
  std::string launcher = "mpirun";
  std::vector<std::string> mpi_options = {};  // handed to the launcher as they are
  std::vector<std::string> agent = {};        // as `ssh`: called with a host and a command; empty: the default one
  std::chrono::milliseconds agent_limit{10'000};
  std::chrono::milliseconds start_limit{300'000};  // for the first rank to be there
  std::chrono::milliseconds grace{5'000};          // from SIGTERM to SIGKILL
  std::chrono::milliseconds linger{600'000};       // after the mark, in a job that mends itself
  std::vector<std::string> application = {};       // and its arguments
  std::optional<Rehearsal> rehearsal = {};         // none: this is no rehearsal
  std::optional<std::uint64_t> last_call = {};     // of snapshot(): this is a run of a rehearsal that ends there
};

struct CommandLine {
  std::optional<Options> options;  // none: only `text` is to be printed
  std::string text = {};
  int exit_code = 0;
};

[[nodiscard]] CommandLine parse_command_line(int argc, const char* const* argv);

// The command line without the options of a rehearsal, and without the name of ckpt-run.
[[nodiscard]] std::vector<std::string> without_rehearsal(int argc, const char* const* argv);

// The INI file among the application's arguments, if there is exactly one: `--config heat.ini`, `-c=heat.ini` or bare.
[[nodiscard]] std::string config_among(const std::vector<std::string>& application);

}  // namespace ckpt_run
