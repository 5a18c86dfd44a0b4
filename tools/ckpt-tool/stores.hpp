// Finds and opens the stores of a job, for reading only: what an operator points at, or what a configuration names.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "inspect/survey.hpp"

namespace ckpt_tool {

struct Target {
  std::string config;               // INI file; empty: none
  std::vector<std::string> locals;  // each as [storage] local: DIR/<job>, DIR/node0003/<job>, or both
  std::string global;               // as [storage] global
  std::string job;                  // empty: the only one there is
  std::string key_file;             // as [integrity] key_file; empty: files are not sealed with a key
};

// Where a target says that stores are.
struct Places {
  std::string job;                      // empty: not named
  std::string key_file;                 // empty: none
  std::vector<std::string> named;       // the directories as they were named, for messages
  std::vector<std::string> node_roots;  // these and the simulated nodes below them, which may have a job's directory
  std::vector<std::string> globals;     // at most one
  [[nodiscard]] std::string text() const;
};

struct OpenStores {
  std::string job;
  cairn::JobStores stores;
  std::vector<std::string> places;           // the directories that were searched, for messages
  std::set<std::string> jobs = {};           // whose files are there, if there are none of this job
  std::vector<std::string> node_roots = {};  // where each of stores.nodes was opened
  std::string global_root = {};              // the same for stores.global
  [[nodiscard]] std::string places_text() const;
  [[nodiscard]] bool empty() const { return stores.nodes.empty() && !stores.global; }
  // "no snapshots of job heat in DIR", and which jobs have files there.
  [[nodiscard]] cairn::Error nothing(std::string_view what) const;
};

// The command line overrides the file. A directory that does not exist is an error if no other one is named, and else
// a line on stderr.
[[nodiscard]] cairn::Result<Places> find_places(Target target);
// Jobs that have files there. Fails if there are none, and names directories that could not be read.
[[nodiscard]] cairn::Result<std::set<std::string>> jobs_at(const Places& places);
// There may be no store of the job.
[[nodiscard]] cairn::Result<OpenStores> open_job(const Places& places, const std::string& job);
// The same for the job that the target names, or the only one there is.
[[nodiscard]] cairn::Result<OpenStores> open_stores(Target target);

}  // namespace ckpt_tool
