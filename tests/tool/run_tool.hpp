// Runs ckpt-tool as a user would.
#pragma once

#include <string>

namespace cairn::test {

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

[[nodiscard]] Outcome run_tool(const std::string& arguments);
[[nodiscard]] std::string read_whole(const std::string& file);

}  // namespace cairn::test
