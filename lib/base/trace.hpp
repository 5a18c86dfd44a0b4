// A trace of one process: where its time went, as Chrome trace events that Perfetto shows. A value that is passed
// along, like Log; copies write to one file. A Span is one piece of work, from its construction to its end.
//
// The file gets its name when the life of the job is known. It has one event a line; the first one says which process
// it is, and when it started. Times count from when the session began to open. The first event has the time of day of
// that moment, so that ckpt-tool can merge the files of a job. Events are gathered in memory and written many at a
// time, so a crash loses the last seconds of them; such a file lacks the closing bracket, which readers allow. If a
// file cannot be written, there is one warning and the trace ends; the job does not fail.
//
// Thread-safe. Local. A span costs one pointer test while tracing is off, and less than a microsecond while it is on.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/ids.hpp"
#include "base/log.hpp"

namespace cairn {

inline constexpr int kTraceFormat = 1;

// Which process is traced, and the parts that make its file's name unique.
struct TraceProcess {
  std::uint32_t pid = 0;  // a number of its own among the job's processes
  std::string name;       // for a person: "rank 3"
  std::string part;       // of the file's name: "rank000003"
  std::string host;

  static TraceProcess of_rank(Rank rank, std::string host);
  static TraceProcess of_head(NodeId node, std::string host);
};

// "heat.json" → "heat.i0002.rank000003.json": the file of one process in one life of the job. A name without ".json"
// gets it.
[[nodiscard]] std::string trace_file(const std::string& path, Incarnation incarnation, const std::string& part);
// What the names of all files of `path` begin with: "heat.i".
[[nodiscard]] std::string trace_files_begin(const std::string& path);

class Trace {
 public:
  class Span;

  Trace() = default;  // off
  // An empty path: off. Nothing is written before begin(). `begun`: from when its times count.
  Trace(const std::string& path, TraceProcess process, Log log,
        std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now());

  // Opens the file; called when the life of the job is known. Only the first call counts.
  void begin(Incarnation incarnation) const;
  // What the calling thread is to be called.
  void name_thread(std::string name) const;

  // Work of this thread, until the Span ends. Spans of a thread lie inside each other. `name`: a literal; version and
  // bytes are shown unless 0.
  [[nodiscard]] Span span(const char* name, std::uint64_t version = 0, std::uint64_t bytes = 0) const;
  // The same, of work that had begun before the trace was there.
  [[nodiscard]] Span span_since(const char* name, std::chrono::steady_clock::time_point begun) const;
  // Something that runs beside the thread's own work: it may overlap other spans, and may end on another thread.
  [[nodiscard]] Span span_beside(const char* name, std::uint64_t version = 0) const;

  // A value that grows or falls, as it is now. `name`: a literal.
  void count(const char* name, double value) const;

  [[nodiscard]] bool is_on() const { return file_ != nullptr; }
  // Writes what has been gathered.
  void flush() const;

 private:
  class File;
  std::shared_ptr<File> file_;
};

// Must end before the last copy of its Trace is destroyed.
class [[nodiscard]] Trace::Span {
 public:
  Span() = default;  // of a trace that is off
  Span(Span&& other) noexcept { *this = std::move(other); }
  Span& operator=(Span&& other) noexcept;
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;
  ~Span() { end(); }

  // For values that are known only after the span has begun.
  void set_bytes(std::uint64_t bytes) { bytes_ = bytes; }
  void set_version(Version version) { version_ = version.value; }
  // Ends the span now, not at its destruction.
  void end() noexcept {
    if (file_ != nullptr) record();
  }
  // Leaves the span out of the trace.
  void drop() { file_ = nullptr; }

 private:
  friend class Trace;
  using Clock = std::chrono::steady_clock;
  Span(File* file, const char* name, std::uint64_t version, std::uint64_t bytes, bool beside)
      : file_(file), name_(name), version_(version), bytes_(bytes), beside_(beside) {
    if (file_ != nullptr) start_ = Clock::now();
  }
  void record() noexcept;

  File* file_ = nullptr;
  const char* name_ = nullptr;
  std::uint64_t version_ = 0;
  std::uint64_t bytes_ = 0;
  bool beside_ = false;
  Clock::time_point start_;
};

inline Trace::Span Trace::span(const char* name, std::uint64_t version, std::uint64_t bytes) const {
  return {file_.get(), name, version, bytes, false};
}

inline Trace::Span Trace::span_beside(const char* name, std::uint64_t version) const {
  return {file_.get(), name, version, 0, true};
}

}  // namespace cairn
