// Puts the trace files of a job's processes together, and says in a table where the time went.
#include "base/trace.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "commands.hpp"
#include "text.hpp"

namespace ckpt_tool {
namespace {

namespace fs = std::filesystem;
using cairn::Code;
using cairn::fail;
using cairn::Result;
using cairn::Status;

constexpr double kMicrosInSecond = 1e6;
constexpr double kNanosInMicro = 1e3;
constexpr double kMostRate = 1e18;  // bytes a second: more is no rate, but still a number of bytes

std::string why() { return std::error_code(errno, std::generic_category()).message(); }

// The files that the processes of a job made of one [log] trace, in all its lives.
std::vector<std::string> files_of(const std::string& path) {
  const fs::path begin = cairn::trace_files_begin(path);
  const fs::path directory = begin.has_parent_path() ? begin.parent_path() : ".";
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(begin.filename().string()) || !name.ends_with(".json")) continue;
    // "0002.rank000003.json": other files may begin in the same way.
    const std::string rest = name.substr(begin.filename().string().size());
    const auto dot = rest.find_first_not_of("0123456789");
    if (dot == 0 || !(rest.substr(dot).starts_with(".rank") || rest.substr(dot).starts_with(".node"))) continue;
    files.push_back(begin.has_parent_path() ? entry.path().string() : name);
  }
  return files;
}

Result<std::set<std::string>> find_files(const std::vector<std::string>& inputs) {
  std::set<std::string> files;
  for (const std::string& input : inputs) {
    if (fs::is_regular_file(input)) {
      files.insert(input);
      continue;
    }
    const auto found = files_of(input);
    if (found.empty()) {
      return fail(Code::not_found,
                  fmt::format("no file {}, and none that begins with {}", input, cairn::trace_files_begin(input)),
                  "give trace files, or the path that [log] trace was set to");
    }
    files.insert(found.begin(), found.end());
  }
  return files;
}

// What the first event of a file says.
struct Source {
  std::string file;
  std::int64_t start_ns = 0;
};

// A trace file is read line by line: one event each, and a comma.
Json event_in(std::string line) {
  while (line.ends_with(',') || line.ends_with('\r')) line.pop_back();
  return Json::parse(line, nullptr, false);
}

Result<Source> open_source(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::string line;
  errno = 0;
  if (!std::getline(in, line) && !in.eof()) return fail(Code::io, fmt::format("{}: cannot be read: {}", file, why()));
  const bool array = line == "[";
  std::getline(in, line);
  const Json head = event_in(line);
  const auto no_trace = fail(Code::corrupt, fmt::format("{}: is not the trace of a Cairn process", file),
                             "give the files that [log] trace writes, not a file that ckpt-tool trace wrote");
  const bool named = head.is_object() && head.contains("name") && head["name"] == "cairn_trace";
  if (!array || !named || !head.contains("args")) return no_trace;
  const Json& args = head["args"];
  if (!args.is_object() || !args.contains("format") || !args["format"].is_number_integer()) return no_trace;
  if (args["format"] > cairn::kTraceFormat) {
    return fail(Code::corrupt,
                fmt::format("{}: format {} is newer than {}", file, args["format"].get<int>(), cairn::kTraceFormat),
                "use ckpt-tool of the version that wrote it, or of a newer one");
  }
  if (!args.contains("start_ns") || !args["start_ns"].is_number_integer()) return no_trace;
  return Source{file, args["start_ns"].get<std::int64_t>()};
}

bool is_event(const Json& event) {
  const auto has_number = [&](const char* key) { return event.contains(key) && event[key].is_number(); };
  if (!event.is_object() || !event.contains("name") || !event["name"].is_string()) return false;
  if (!event.contains("ph") || !event["ph"].is_string()) return false;
  if (event["ph"] == "M") return true;
  if (!has_number("ts") || !has_number("pid")) return false;
  return event["ph"] != "X" || has_number("dur");
}

// Runs `take` on every event of a file. The last line of a process that died may be half an event, which is left out.
Status for_each_event(const Source& source, const std::function<void(Json&&)>& take) {
  std::ifstream in(source.file, std::ios::binary);
  std::string line;
  std::getline(in, line);
  for (std::size_t number = 2; std::getline(in, line); ++number) {
    if (line.empty() || line == "]") continue;
    const bool last = in.eof();
    Json event = event_in(line);
    if (is_event(event)) {
      take(std::move(event));
    } else if (!last) {
      return fail(Code::corrupt, fmt::format("{}:{}: is not a trace event", source.file, number));
    }
  }
  return {};
}

// What is known of all spans of one name.
struct Spans {
  std::vector<double> seconds;
  double total = 0;
  double bytes = 0;
  double seconds_of_bytes = 0;

  void add(double length, const Json& event) {
    seconds.push_back(length);
    total += length;
    const auto args = event.find("args");
    if (args == event.end() || !args->contains("bytes") || !(*args)["bytes"].is_number()) return;
    bytes += (*args)["bytes"].get<double>();
    seconds_of_bytes += length;
  }
};

class Table {
 public:
  void take(const Json& event) {
    const std::string phase = event["ph"];
    if (phase == "X") spans_[event["name"]].add(event["dur"].get<double>() / kMicrosInSecond, event);
    if (phase != "b" && phase != "e") return;
    // A span that overlaps others has two events, with the same id in their file.
    const auto key = std::pair(event["pid"].dump(), event.value("id2", Json()).dump());
    if (phase == "b") {
      begun_[key] = event["ts"];
    } else if (const auto begin = begun_.extract(key)) {
      spans_[event["name"]].add((event["ts"].get<double>() - begin.mapped()) / kMicrosInSecond, event);
    }
  }
  void next_file() { begun_.clear(); }

  // Longest total first.
  [[nodiscard]] std::string text() {
    std::vector<std::pair<std::string, Spans*>> order;
    for (auto& [name, spans] : spans_) order.emplace_back(name, &spans);
    std::ranges::stable_sort(order, std::greater{}, [](const auto& entry) { return entry.second->total; });
    std::vector<std::vector<std::string>> rows{{"span", "count", "total", "median", "longest", "rate"}};
    for (const auto& [name, spans] : order) {
      auto& lengths = spans->seconds;
      const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
      std::ranges::nth_element(lengths, middle);
      const double median = *middle;
      const double rate = spans->seconds_of_bytes > 0 ? spans->bytes / spans->seconds_of_bytes : 0;
      rows.push_back({name, std::to_string(lengths.size()), duration_text(spans->total), duration_text(median),
                      duration_text(*std::ranges::max_element(lengths)),
                      rate > 0 ? size_text(static_cast<std::uint64_t>(std::min(rate, kMostRate))) + "/s" : ""});
    }
    return table_text(rows);
  }

 private:
  std::map<std::string, Spans> spans_;
  std::map<std::pair<std::string, std::string>, double> begun_;
};

// One JSON array of all events. Times count from the first process's start.
class Merged {
 public:
  explicit Merged(const std::string& file) : file_(file) {
    if (file_.empty()) return;
    errno = 0;
    out_.open(file_, std::ios::binary | std::ios::trunc);
    out_ << "[";
  }
  void put(const Json& event) {
    if (file_.empty()) return;
    out_ << (first_ ? "\n" : ",\n") << event.dump();
    first_ = false;
  }
  [[nodiscard]] Status close() {
    if (file_.empty()) return {};
    out_ << "\n]\n";
    out_.close();
    if (out_.good()) return {};
    return fail(Code::io, fmt::format("{}: cannot be written: {}", file_, why()));
  }

 private:
  std::string file_;
  std::ofstream out_;
  bool first_ = true;
};

}  // namespace

Result<ExitCode> trace(const TraceRequest& request) {
  const auto files = find_files(request.inputs);
  if (!files) return fail(files.error());
  std::vector<Source> sources;
  for (const std::string& file : *files) {
    std::error_code ignored;
    if (!request.output.empty() && fs::equivalent(file, request.output, ignored))
      return fail(Code::invalid_argument, file + ": is an input and would be overwritten",
                  "give another file after -o");
    auto source = open_source(file);
    if (!source) return fail(source.error());
    sources.push_back(std::move(*source));
  }
  const std::int64_t start = std::ranges::min_element(sources, {}, &Source::start_ns)->start_ns;

  Merged merged(request.output);
  Table table;
  for (const Source& source : sources) {
    // Unsigned, and possibly too large for a signed number: a file may contain anything.
    const auto later_ns = static_cast<std::uint64_t>(source.start_ns) - static_cast<std::uint64_t>(start);
    const double later = static_cast<double>(later_ns) / kNanosInMicro;
    table.next_file();
    auto read = for_each_event(source, [&](Json&& event) {
      table.take(event);
      if (event["ph"] != "M") event["ts"] = event["ts"].get<double>() + later;
      merged.put(event);
    });
    if (!read) return fail(read.error());
  }
  if (auto status = merged.close(); !status) return fail(status.error());
  fmt::print("{}", table.text());
  if (!request.output.empty()) {
    fmt::print("\n{} combined in {}: open it in ui.perfetto.dev\n", count_text(sources.size(), "trace"),
               request.output);
  }
  return kGood;
}

}  // namespace ckpt_tool
