// One start of an MPI job: mpirun and all that it started, which are killed with this object. One thread.
#pragma once

#include <sys/types.h>

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
  // Processes of it that run `program` now, ascending.
  [[nodiscard]] std::vector<pid_t> processes() const;
  [[nodiscard]] pid_t launcher() const { return launcher_; }
  // Sends SIGKILL to all that is left, and waits until it is gone.
  void end();

 private:
  std::string program_;
  std::string token_;  // in the environment of all that belongs to it
  pid_t launcher_ = -1;
  bool ended_ = false;
};

}  // namespace cairn::torture
