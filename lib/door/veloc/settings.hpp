// VELOC's configuration file, and the configuration of Cairn that follows from it. Local.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace cairn::door {

struct Settings {
  std::string scratch;              // absolute; a directory of the node's own
  std::string persistent;           // absolute; the same for all nodes
  bool sync = false;                // a checkpoint has reached all its levels when its call returns
  bool threaded = false;            // what is done in the background is done by threads of the program
  std::optional<long> ec_interval;  // seconds; 0: each checkpoint; negative: off; none: Cairn's defaults
  long persistent_interval = 0;     // the same
  long max_versions = 0;            // 0: all
  long scratch_versions = 0;        // 0: Cairn's default
};

// The value of a variable of the environment.
using Variable = std::function<std::optional<std::string>(const std::string& name)>;

// Reads the text of VELOC's file. VELOC_<KEY> overrides a key; keys that Cairn does not need are ignored, as are
// sections. `file` is for messages. Throws: kind `config`.
[[nodiscard]] Settings parse_settings(const std::string& text, const std::string& file, const Variable& variable);

// How many newest checkpoints can be restored at most.
[[nodiscard]] std::size_t most_versions(const Settings& settings);

// Cairn's configuration of the job with this name, as the text of an INI file. `node_store`: its directory in scratch.
[[nodiscard]] std::string ini_of(const Settings& settings, const std::string& job, const std::string& node_store);

}  // namespace cairn::door
