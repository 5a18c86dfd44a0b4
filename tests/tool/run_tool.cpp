#include "run_tool.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "support/temp_directory.hpp"

namespace cairn::test {

std::string read_whole(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {(std::istreambuf_iterator<char>(in)), {}};
}

Outcome run_tool(const std::string& arguments) {
  const TempDirectory scratch("/tmp");
  const std::string err = scratch.path() + "/err";
  const std::string command = std::string(CAIRN_CKPT_TOOL) + " " + arguments + " 2>" + err;
  Outcome outcome;
  FILE* const pipe = ::popen(command.c_str(), "r");
  std::array<char, 4096> block{};
  for (std::size_t count = 0; (count = std::fread(block.data(), 1, block.size(), pipe)) > 0;)
    outcome.out.append(block.data(), count);
  outcome.code = WEXITSTATUS(::pclose(pipe));
  outcome.err = read_whole(err);
  return outcome;
}

Outcome run_on(const SampleJob& job, const std::string& command) {
  const auto space = command.find(' ');
  const std::string rest = space == std::string::npos ? "" : command.substr(space);
  return run_tool(command.substr(0, space) + " --local " + job.local() + " --global " + job.global() + rest);
}

std::size_t lines_in(const std::string& text) { return static_cast<std::size_t>(std::ranges::count(text, '\n')); }

}  // namespace cairn::test
