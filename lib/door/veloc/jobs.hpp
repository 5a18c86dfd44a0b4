// The jobs of a program, one for each checkpoint name, and what they have in common: ranks, settings and directories.
// A job is opened by the first collective call that names it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "door/veloc/at_mpi_end.hpp"
#include "door/veloc/job.hpp"
#include "door/veloc/meeting.hpp"
#include "door/veloc/settings.hpp"

namespace cairn::door {

class Jobs {
 public:
  // `config`: path of VELOC's file. `id`: of a process whose jobs are its own; it is in their names. `at_mpi_end` is
  // called if MPI_Finalize comes before finalize(). Collective. Throws: cairn::Exception on all ranks.
  Jobs(MPI_Comm comm, const std::string& config, std::optional<unsigned> id, std::function<void()> at_mpi_end);

  [[nodiscard]] const Meeting& meeting() const { return meeting_; }
  [[nodiscard]] bool is_sync() const { return settings_.sync; }

  // Collective. Throws: cairn::Exception.
  [[nodiscard]] Job& open(const std::string& name);
  void take(const std::string& name, int version, const Content& content);
  void wait();
  // Continues after an error, and throws the first one. The jobs can only be destroyed then.
  void finalize();
  // Removes this name's snapshots, and the files of `path_of`, from this node.
  void clean_up(const std::string& name);

  // Whether wait() would return at once. Local.
  [[nodiscard]] bool are_finished();
  // Of this rank's file in a version. Local.
  [[nodiscard]] std::string path_of(const std::string& name, int version) const;
  // The same. The first time, removes what earlier runs have left of this rank. Requires: it reads no file of this
  // name.
  [[nodiscard]] std::string path_to_write(const std::string& name, int version);

 private:
  void remove_files(const std::string& name) const;
  [[nodiscard]] std::string job_of(const std::string& name) const;
  [[nodiscard]] std::string node_store_of(const std::string& name) const;
  [[nodiscard]] std::string write_ini(const std::string& name) const;

  Meeting meeting_;
  std::optional<unsigned> id_;
  Settings settings_;
  std::map<std::string, std::unique_ptr<Job>> jobs_;
  std::set<std::string> has_file_;  // names whose files this process has written
  AtMpiEnd at_end_;
};

}  // namespace cairn::door
