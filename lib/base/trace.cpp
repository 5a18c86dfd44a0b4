#include "base/trace.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <fstream>
#include <iterator>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file_size_limit.hpp"

namespace cairn {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;
using nlohmann::ordered_json;

constexpr std::size_t kEventsKept = 4096;
constexpr std::chrono::seconds kLongestKept{2};
constexpr std::string_view kEnding = ".json";
// Perfetto needs thread ids that differ between processes, too.
constexpr std::uint64_t kThreadsOfProcess = 100;
// Heads are numbered after the ranks: in a job of up to a million ranks, no two processes share a number.
constexpr std::uint32_t kFirstHead = 1'000'001;

struct Event {
  const char* name;
  SteadyTime start;
  SteadyTime end;
  std::uint64_t version;
  std::uint64_t bytes;
  std::uint64_t thread;
  bool beside;
  std::optional<double> value = {};  // of a counter
};

std::string stem_of(const std::string& path) {
  return path.ends_with(kEnding) ? path.substr(0, path.size() - kEnding.size()) : path;
}

std::int64_t nanoseconds_since_1970() {
  return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

TraceProcess TraceProcess::of_rank(Rank rank, std::string host) {
  return {rank.value + 1, fmt::format("rank {}", rank.value), fmt::format("rank{:06}", rank.value), std::move(host)};
}

TraceProcess TraceProcess::of_head(NodeId node, std::string host) {
  return {kFirstHead + node.value, fmt::format("head of node {}", node.value), fmt::format("node{:04}", node.value),
          std::move(host)};
}

std::string trace_files_begin(const std::string& path) { return stem_of(path) + ".i"; }

std::string trace_file(const std::string& path, Incarnation incarnation, const std::string& part) {
  return fmt::format("{}{:04}.{}{}", trace_files_begin(path), incarnation.value, part, kEnding);
}

class Trace::File {
 public:
  File(std::string path, TraceProcess process, Log log, SteadyTime begun)
      : path_(std::move(path)),
        process_(std::move(process)),
        log_(std::move(log)),
        start_(begun),
        started_at_(nanoseconds_since_1970() -
                    std::chrono::nanoseconds(std::chrono::steady_clock::now() - begun).count()) {
    events_.reserve(kEventsKept);
  }
  ~File() {
    if (!out_.is_open()) return;
    write_events();
    write("\n]\n");
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void begin(Incarnation incarnation) {
    const std::scoped_lock lock(mutex_);
    if (begun_) return;
    begun_ = true;
    path_ = trace_file(path_, incarnation, process_.part);
    errno = 0;
    out_.open(path_, std::ios::binary | std::ios::trunc);
    if (!out_.is_open()) return give_up();
    text_ = "[\n" + metadata("cairn_trace", {{"format", kTraceFormat},
                                             {"process", process_.name},
                                             {"host", process_.host},
                                             {"incarnation", incarnation.value},
                                             {"start_ns", started_at_}});
    text_ += ",\n" + metadata("process_name", {{"name", process_.name}});
    const auto labels = fmt::format("{}, incarnation {}", process_.host, incarnation.value);
    text_ += ",\n" + metadata("process_labels", {{"labels", labels}});
    // An instant event: it makes a restart visible.
    text_ += fmt::format(
        ",\n"
        R"({{"name":"incarnation {}","cat":"cairn","ph":"i","s":"p","pid":{},"tid":{},"ts":0}})",
        incarnation.value, process_.pid, number_of(this_thread()));
    write_events();
  }

  void name_thread(std::string name) {
    const std::scoped_lock lock(mutex_);
    threads_[this_thread()].name = std::move(name);
  }

  void record(Event event) {
    const std::scoped_lock lock(mutex_);
    if (given_up_) return;
    event.thread = this_thread();
    if (events_.empty()) oldest_ = event.end;
    events_.push_back(event);
    const bool full = events_.size() >= kEventsKept || event.end - oldest_ > kLongestKept;
    if (full && out_.is_open()) write_events();
  }

  void flush() {
    const std::scoped_lock lock(mutex_);
    if (out_.is_open()) write_events();
  }

 private:
  struct Thread {
    std::thread::id id;
    std::string name;
    bool told = false;  // the file has its name
  };

  // A process has a thread or two here.
  std::size_t this_thread() {
    const auto id = std::this_thread::get_id();
    const auto found = std::ranges::find(threads_, id, &Thread::id);
    if (found != threads_.end()) return static_cast<std::size_t>(found - threads_.begin());
    threads_.push_back({id, {}, false});
    return threads_.size() - 1;
  }

  [[nodiscard]] std::uint64_t number_of(std::size_t thread) const {
    return process_.pid * kThreadsOfProcess + thread + 1;
  }

  [[nodiscard]] std::string metadata(const char* name, const ordered_json& args, std::uint64_t thread = 0) const {
    const ordered_json event{{"name", name}, {"ph", "M"}, {"pid", process_.pid}, {"tid", thread}, {"args", args}};
    return event.dump(-1, ' ', true, ordered_json::error_handler_t::replace);
  }

  // Microseconds with three digits.
  void put_time(std::string_view key, std::chrono::nanoseconds time) {
    constexpr std::int64_t kNanosInMicro = 1000;
    fmt::format_to(std::back_inserter(text_), R"(,"{}":{}.{:03})", key, time.count() / kNanosInMicro,
                   time.count() % kNanosInMicro);
  }

  void put(const Event& event, std::string_view phase, SteadyTime at) {
    fmt::format_to(std::back_inserter(text_), R"(,{}{{"name":"{}","cat":"cairn","ph":"{}","pid":{},"tid":{})", '\n',
                   event.name, phase, process_.pid, number_of(event.thread));
    put_time("ts", at - start_);
    if (event.beside) {
      fmt::format_to(std::back_inserter(text_), R"(,"id2":{{"local":"{}"}})", beside_);
    } else if (!event.value) {
      put_time("dur", event.end - event.start);
    }
    fmt::format_to(std::back_inserter(text_), R"(,"args":{{)");
    if (event.value) fmt::format_to(std::back_inserter(text_), R"("value":{})", *event.value);
    if (event.version > 0) fmt::format_to(std::back_inserter(text_), R"("version":{})", event.version);
    if (event.bytes > 0)
      fmt::format_to(std::back_inserter(text_), R"({}"bytes":{})", event.version > 0 ? "," : "", event.bytes);
    text_ += "}}";
  }

  void write_events() {
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      if (threads_[i].told || threads_[i].name.empty()) continue;
      threads_[i].told = true;
      text_ += ",\n" + metadata("thread_name", {{"name", threads_[i].name}}, number_of(i));
    }
    for (const Event& event : events_) {
      if (event.beside) {
        ++beside_;
        put(event, "b", event.start);
        put(event, "e", event.end);
      } else {
        put(event, event.value ? "C" : "X", event.start);
      }
    }
    events_.clear();
    write(text_);
    text_.clear();
  }

  void write(std::string_view text) {
    if (given_up_ || text.empty()) return;
    const FileSizeLimit limit;
    errno = 0;
    out_.write(text.data(), static_cast<std::streamsize>(text.size()));
    out_.flush();
    if (!out_.good()) give_up();
  }

  void give_up() {
    given_up_ = true;
    events_.clear();
    log_.warning("{}: cannot be written: {}; the trace of {} ends here", path_,
                 std::error_code(errno, std::generic_category()).message(), process_.name);
    out_.close();  // which tries again to write what is left: not later, where the limit may raise a signal
  }

  std::mutex mutex_;
  std::string path_;
  TraceProcess process_;
  Log log_;
  // The same moment on both clocks. Spans use the steady one: corrections by a clock daemon must not change their
  // length.
  SteadyTime start_;
  std::int64_t started_at_;
  std::ofstream out_;
  std::vector<Event> events_;
  SteadyTime oldest_;  // of those
  std::vector<Thread> threads_;
  std::string text_;  // to be written
  std::uint64_t beside_ = 0;
  bool begun_ = false;
  bool given_up_ = false;
};

Trace::Trace(const std::string& path, TraceProcess process, Log log, std::chrono::steady_clock::time_point begun) {
  if (!path.empty()) file_ = std::make_shared<File>(path, std::move(process), std::move(log), begun);
}

Trace::Span Trace::span_since(const char* name, std::chrono::steady_clock::time_point begun) const {
  Span span(file_.get(), name, 0, 0, false);
  span.start_ = begun;
  return span;
}

void Trace::begin(Incarnation incarnation) const {
  if (file_) file_->begin(incarnation);
}

void Trace::name_thread(std::string name) const {
  if (file_) file_->name_thread(std::move(name));
}

void Trace::count(const char* name, double value) const {
  const auto now = std::chrono::steady_clock::now();
  if (file_) file_->record({name, now, now, 0, 0, 0, false, value});
}

void Trace::flush() const {
  if (file_) file_->flush();
}

Trace::Span& Trace::Span::operator=(Span&& other) noexcept {
  if (this == &other) return *this;
  end();
  file_ = std::exchange(other.file_, nullptr);
  name_ = other.name_;
  version_ = other.version_;
  bytes_ = other.bytes_;
  beside_ = other.beside_;
  start_ = other.start_;
  return *this;
}

void Trace::Span::record() noexcept {
  File* const file = std::exchange(file_, nullptr);
  try {
    file->record({name_, start_, Clock::now(), version_, bytes_, 0, beside_});
  } catch (const std::exception&) {
    // No memory for an event: it is left out, and the work that it measured continues.
    return;
  }
}

}  // namespace cairn
