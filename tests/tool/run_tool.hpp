// Runs ckpt-tool as a user would.
#pragma once

#include <cstddef>
#include <string>

#include "sample_job.hpp"

namespace cairn::test {

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

[[nodiscard]] Outcome run_tool(const std::string& arguments);
// "verify --quiet", with the job's directories.
[[nodiscard]] Outcome run_on(const SampleJob& job, const std::string& command);
[[nodiscard]] std::size_t lines_in(const std::string& text);
[[nodiscard]] std::string read_whole(const std::string& file);

}  // namespace cairn::test
