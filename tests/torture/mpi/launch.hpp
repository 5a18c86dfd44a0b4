// One start of an MPI job: mpirun, or ckpt-run, and all that it started, which are killed with this object. One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cairn::torture {

class Launch {
 public:
  // What it prints goes to the file `output`; `environment`: NAME=value, besides what there is.
  Launch(const std::vector<std::string>& command, const std::vector<std::string>& environment,
         const std::string& output, std::string program);
  ~Launch();
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  [[nodiscard]] bool has_ended();
  void wait();
  // How, when it has: 128 + a signal's number, if one ended it.
  [[nodiscard]] int code() const { return code_; }
  // Processes of it that run `program` now, ascending; and all that are left of it, without the first.
  [[nodiscard]] std::vector<pid_t> ranks() const;
  [[nodiscard]] std::vector<pid_t> started() const;
  [[nodiscard]] pid_t launcher() const { return launcher_; }
  // Sends SIGKILL to all that is left, and waits until it is gone.
  void end();

 private:
  std::string program_;
  std::string token_;  // in the environment of all that belongs to it
  pid_t launcher_ = -1;
  bool ended_ = false;
  int code_ = 0;
};

// The number that a launcher gave to a process.
[[nodiscard]] std::optional<std::uint32_t> world_rank_of(pid_t process);

}  // namespace cairn::torture
