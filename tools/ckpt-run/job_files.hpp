// What the job leaves where ckpt-run can see it: its completion marks, and the records of its lives in the global
// store. Local; the global store must be visible on this host.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "config/config.hpp"
#include "format/manifest.hpp"
#include "format/sealer.hpp"
#include "session/handover.hpp"

namespace ckpt_run {

// The name of a run of ckpt-run, different from every other run that may use the same hosts or stores: <host>-<PID
// namespace>-<pid>-<8 hex digits>. A process is known by its number only in its own namespace.
[[nodiscard]] std::string name_of_run(const std::string& host);

// The files of one run of ckpt-run, below the global store's root. They are removed when it ends.
class JobFiles {
 public:
  // `name`: of this run, from name_of_run(). Removes files of earlier runs that ran on this host, in this PID
  // namespace, as this user, and are known to be dead. All other files stay.
  [[nodiscard]] static cairn::Result<std::unique_ptr<JobFiles>> make(const cairn::Config& config,
                                                                     const std::string& host, const std::string& name);
  ~JobFiles();
  JobFiles(const JobFiles&) = delete;
  JobFiles& operator=(const JobFiles&) = delete;

  // Of the launch's own mark; sessions have theirs beside it.
  [[nodiscard]] const std::string& mark_path() const { return mark_path_; }
  // Marks that say nothing, as each life finds them: the launch's own and that of the session with the configuration
  // that ckpt-run was given. Removes all others, and makes the directory again if it is gone.
  [[nodiscard]] cairn::Status clear_marks() const;
  [[nodiscard]] cairn::Marks marks() const { return cairn::read_marks(mark_path_); }
  // The same, where the record of a finished life counts as its session's mark: a job may be killed before it leaves
  // that, or the mark may be gone. `lives`: those that may count, newest first.
  [[nodiscard]] cairn::Marks marks_and(const std::vector<cairn::RunRecord>& lives) const;

  // Writes the hosts of a launch to a file, and says where it is.
  [[nodiscard]] cairn::Result<std::string> write_hosts(const std::string& host_list) const;

  // The records of the job's sessions, newest first. An error when they cannot be read.
  [[nodiscard]] cairn::Result<std::vector<cairn::RunRecord>> records() const;

 private:
  JobFiles(const cairn::Config& config, cairn::Sealer sealer, std::string mark_path, std::string hosts_path)
      : config_(config),
        sealer_(std::move(sealer)),
        mark_path_(std::move(mark_path)),
        hosts_path_(std::move(hosts_path)) {}
  void remove_marks() const;

  const cairn::Config& config_;
  cairn::Sealer sealer_;
  std::string mark_path_;
  std::string hosts_path_;
};

}  // namespace ckpt_run
