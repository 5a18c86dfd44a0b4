// Finds and opens the stores of a job, for reading only: what an operator points at, or what a configuration names.
#pragma once

#include <string>
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

struct OpenStores {
  std::string job;
  cairn::JobStores stores;
  std::vector<std::string> places;  // the places that were searched, for messages
  [[nodiscard]] std::string places_text() const;
};

// not_found: there is no store of the job. The command line overrides the file.
[[nodiscard]] cairn::Result<OpenStores> open_stores(Target target);

}  // namespace ckpt_tool
