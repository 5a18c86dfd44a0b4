// The messages between ckpt-run and the job that it starts. ckpt-run sets variables in the environment of every rank:
// the path of the completion mark, and the processes that it has started. They also say whether there are snapshots to
// restore, and what the last failure destroyed. The job answers with completion marks. They are the only proof of how
// the job ended, because after a failure the exit code of a launcher proves nothing.
//
// A job may have several sessions at once, each on a part of its ranks. Each session has a mark of its own, named after
// its job and global store. One more, the launch's own, takes errors of processes without a session.
//
// A mark is a file of kMarkBytes: one line, a word and a text, a second line with the cause, if there is one, and
// spaces. It counts only if its first line is whole. Marks of older versions of Cairn have no cause. ckpt-run writes
// the marks before each run, and ranks overwrite them in place. So a full file system cannot prevent
// the report of the end, and no file system has cached the files as missing. Local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <cairn/error.hpp>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "config/config.hpp"

namespace cairn {

inline constexpr const char* kMarkVariable = "CKPT_RUN_MARK";
inline constexpr const char* kDeadRanksVariable = "CKPT_RUN_DEAD_RANKS";  // application ranks: "1,3"
inline constexpr const char* kLostNodesVariable = "CKPT_RUN_LOST_NODES";  // as numbered in the life that failed
inline constexpr const char* kStartedVariable = "CKPT_RUN_STARTED";       // application ranks, heads, nodes: "8,2,2"
inline constexpr const char* kGoesOnVariable = "CKPT_RUN_GOES_ON";        // "1": an earlier life took snapshots
inline constexpr const char* kEndedVariable = "CKPT_RUN_ENDED";           // "1f2e3d4c,…": sessions that have finished
inline constexpr const char* kWorldVariable = "CKPT_RUN_WORLD";           // "application": [job] world
inline constexpr const char* kNodeSizeVariable = "CKPT_RUN_NODE_SIZE";    // [topology] node_size: "4,4,3"
inline constexpr const char* kSparesVariable = "CKPT_RUN_SPARES";         // spare ranks: "2"
inline constexpr const char* kRepairsVariable = "CKPT_RUN_REPAIRS";       // "1": [recovery] mode is not restart
inline constexpr const char* kStopSignalVariable = "CKPT_RUN_STOP_SIGNAL";  // "SIGUSR1": [restart] stop_signal
inline constexpr const char* kRehearsalVariable = "CKPT_RUN_REHEARSAL";     // a directory of planned deaths
inline constexpr const char* kProcessVariable = "CKPT_RUN_PROCESS";  // "4711-980": set by a rank, for what it starts
inline constexpr const char* kJobVariable = "CKPT_RUN_JOB";          // how ckpt-run finds its processes

// How many of each ckpt-run has started; the job must have as many.
struct StartedNumbers {
  std::uint32_t ranks = 0;  // application ranks
  std::uint32_t heads = 0;  // those that are dedicated ranks
  std::uint32_t nodes = 0;
  friend bool operator==(const StartedNumbers&, const StartedNumbers&) = default;
};

// What a job with [job] world = application needs to know in MPI_Init, before any process has read its configuration.
struct StartedWorld {
  std::vector<std::uint32_t> node_size;  // as [topology] node_size; empty: hosts are nodes
  std::uint32_t spares = 0;
  bool repairs = false;  // [recovery] mode is not restart
  friend bool operator==(const StartedWorld&, const StartedWorld&) = default;
};

// Why a job ended, to be compared with why it ended in another life. What is shown to people is the mark's text.
struct Cause {
  enum class Source {
    error,      // of Cairn: `code` says which, `about` the file that it is about, if it is about one
    exception,  // of the application: `about` is what the exception says
    exit,       // the application called exit()
    repairs,    // the job repaired itself again and again, and came no further
  };
  Source source = Source::error;
  Code code = Code::failed_elsewhere;
  std::string about;
  friend bool operator==(const Cause&, const Cause&) = default;

  // Whether it says what is wrong, and not only that another process has failed.
  [[nodiscard]] bool is_first() const;
};
[[nodiscard]] Cause cause_of(const Error& error);
[[nodiscard]] Cause cause_of(const std::exception& error);

struct CompletionMark {
  enum class Kind {
    none,      // no report: the job failed before it could open a session
    opened,    // a session was opened (this replaces an earlier mark), and no end was reported since: the job failed
    finished,  // finalize succeeded
    stopped,   // the same after a stop signal: the next run continues
    error,     // a restart would fail in the same way; `text` has the error
    failed,    // an exception ended the application; `text` has the exception
  };
  Kind kind = Kind::none;
  std::string text;
  RunId run = {};                   // with `opened`: the session's, once it is known; else 0
  std::optional<Cause> cause = {};  // with `error` and `failed`, if it is known
  friend bool operator==(const CompletionMark&, const CompletionMark&) = default;
};

// Whether the next run would fail with the same error.
[[nodiscard]] bool restart_would_fail(Code code);
// The same for an exception, whose kind is less precise than a Code: `unrecoverable` may also mean that a file was not
// found, so it does not count here.
[[nodiscard]] bool restart_would_surely_fail(ErrorKind kind);

// Inverse pair. What to_text() makes is kMarkBytes long; a longer text, or a longer `about`, is cut. A line that is not
// whole, or not there, is Kind::none; anything else that is not a mark is corrupt.
inline constexpr std::size_t kMarkBytes = 4096;
[[nodiscard]] std::string to_text(const CompletionMark& mark);
[[nodiscard]] Result<CompletionMark> parse_mark(std::string_view text);

// The same with the file; if it does not exist, Code::not_found. An existing file is overwritten in place, in one
// write. Errors name the path and the system's reason.
[[nodiscard]] Status write_mark(const std::string& path, const CompletionMark& mark);
[[nodiscard]] Result<CompletionMark> read_mark(const std::string& path);

// 8 hex digits, the same for every session of this job name with this global store.
[[nodiscard]] std::string session_name(const Config& config);
// The path of a session's mark, where `launch` is that of the launch's own: <launch>.<session name>. Inverse pair.
[[nodiscard]] std::string mark_of_session(const std::string& launch, const std::string& session);
[[nodiscard]] std::string session_of_mark(const std::string& path);

// All marks of a launch.
struct Marks {
  CompletionMark launch;                           // of those without a session
  std::map<std::string, CompletionMark> sessions;  // by path, without those of kind none
};
// Unreadable marks count as Kind::none.
[[nodiscard]] Marks read_marks(const std::string& launch);
// How the job as a whole ended, or that it has not: an error comes first. The job has finished only if each session
// that was opened has finished. Until then, a failure in the launch's own mark counts.
[[nodiscard]] CompletionMark summary_of(const Marks& marks);

// Inverse pair: "1,3", and nothing for none. The error names `variable`.
[[nodiscard]] std::string numbers_text(const std::vector<std::uint32_t>& numbers);
[[nodiscard]] Result<std::vector<std::uint32_t>> parse_numbers(std::string_view variable, std::string_view text);

// Inverse pair: "8,2,2"; empty: ckpt-run did not start the job.
[[nodiscard]] std::string started_text(const StartedNumbers& started);
[[nodiscard]] Result<std::optional<StartedNumbers>> parse_started(std::string_view text);

// Inverse pair: "SIGUSR1", "SIGUSR2", and nothing for none.
[[nodiscard]] std::string stop_signal_text(std::optional<int> number);
[[nodiscard]] Result<std::optional<int>> parse_stop_signal(std::string_view text);

// Inverse pair. The variables of such a job with their values; all are empty in other jobs.
[[nodiscard]] std::map<std::string, std::string> world_variables(const std::optional<StartedWorld>& world);
[[nodiscard]] Result<std::optional<StartedWorld>> parse_world(const std::map<std::string, std::string>& variables);

}  // namespace cairn
