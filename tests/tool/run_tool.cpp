#include "run_tool.hpp"

#include <sys/wait.h>

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

}  // namespace cairn::test
