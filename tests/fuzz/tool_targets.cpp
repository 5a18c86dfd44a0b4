// Files that ckpt-tool is given: traces of processes, and what was measured. Its commands take paths, so an input is
// put into a file first.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "commands.hpp"
#include "fuzz/target.hpp"
#include "support/sample_manifest.hpp"

namespace cairn::fuzz {
namespace {

// A file in memory, which has a path as long as it lives.
class MemoryFile {
 public:
  MemoryFile() : file_(::memfd_create("fuzz", MFD_CLOEXEC)) { must(file_ >= 0, "there is memory for a file"); }
  explicit MemoryFile(Bytes bytes) : MemoryFile() {
    std::ofstream(path(), std::ios::binary | std::ios::trunc) << text_of(bytes);
  }
  ~MemoryFile() { ::close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

bool answered(const Result<ckpt_tool::ExitCode>& code) {
  must(code || !code.error().message.empty(), "an error says what is wrong");
  return code.has_value();
}

// Two files, one after the other, with a zero byte between.
bool run_traces(Bytes input) {
  const std::size_t middle = std::min(text_of(input).find('\0'), input.size());
  const MemoryFile one(input.first(middle));
  const MemoryFile other(input.subspan(std::min(middle + 1, input.size())));
  const MemoryFile all;
  ckpt_tool::TraceRequest request{{one.path()}, all.path()};
  if (middle < input.size()) request.inputs.push_back(other.path());
  const bool good = answered(ckpt_tool::trace(request));
  if (good) {
    std::ifstream in(all.path());
    must(nlohmann::json::parse(in, nullptr, false).is_array(), "traces that were put together are JSON");
  }
  return good;
}

bool run_measured(Bytes input) {
  ckpt_tool::ScenarioOptions options;
  const MemoryFile costs(input);
  options.measured = costs.path();
  return answered(ckpt_tool::plan(options));
}

// As a process leaves it that is killed while it writes.
std::string trace_from(std::string_view start_ns) {
  return R"([
{"name":"cairn_trace","ph":"M","pid":3,"args":{"format":1,"start_ns":)" +
         std::string(start_ns) + R"(}},
{"name":"snapshot","ph":"X","ts":12.5,"dur":40,"pid":3,"tid":0,"args":{"version":1,"bytes":4096}},
{"name":"vote","ph":"b","ts":13,"pid":3,"id2":{"local":1},"cat":"x"},
{"name":"vote","ph":"e","ts":15,"pid":3,"id2":{"local":1},"cat":"x"},
{"name":"snapshot","ph":"X","ts":1)";
}

std::vector<Buffer> traces_seeds() {
  const std::string one = trace_from("1700000000000000000");
  return {buffer_of(one), buffer_of(one + '\0' + trace_from("1700000003000000000"))};
}

std::vector<Buffer> measured_seeds() {
  return {buffer_of(to_json(test::sample_measured())),
          buffer_of(R"({"levels": [{"cost": 1, "recovery": 0.5, "mtbf": 1800}, {"cost": 9, "mtbf": 86400}]})")};
}

}  // namespace

std::vector<Target> tool_targets() {
  return {{"traces", run_traces, traces_seeds}, {"measured", run_measured, measured_seeds, mutate_json}};
}

}  // namespace cairn::fuzz
