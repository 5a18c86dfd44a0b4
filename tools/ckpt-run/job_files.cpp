#include "job_files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "inspect/survey.hpp"
#include "store/posix/posix_store.hpp"

namespace ckpt_run {
namespace {

namespace fs = std::filesystem;
using cairn::Code;
using cairn::CompletionMark;
using cairn::fail;
using cairn::Result;
using cairn::RunId;
using cairn::RunRecord;
using cairn::Status;

constexpr std::string_view kPrefix = ".ckpt-run-";
constexpr std::string_view kMark = ".mark";
constexpr std::string_view kHosts = ".hosts";
constexpr std::size_t kDigits = 8;

// The beginning of the name of every run on this host in this PID namespace; empty: the namespace is not known.
std::string place_of_runs(const std::string& host) {
  std::error_code error;
  std::string space;  // "pid:[4026531836]"
  std::ranges::copy_if(fs::read_symlink("/proc/self/ns/pid", error).string(), std::back_inserter(space),
                       [](unsigned char c) { return std::isdigit(c) != 0; });
  return space.empty() ? std::string() : fmt::format("{}-{}-", host, space);
}

// The process that a file of such a run belongs to; none: it is not such a file.
std::optional<pid_t> owner_of(std::string_view file, const std::string& place) {
  const std::string begin = fmt::format("{}{}", kPrefix, place);
  if (place.empty() || !file.starts_with(begin)) return {};
  file.remove_prefix(begin.size());
  pid_t pid = 0;
  const auto [after, error] = std::from_chars(file.data(), file.data() + file.size(), pid);
  if (error != std::errc() || pid <= 0) return {};
  file.remove_prefix(static_cast<std::size_t>(after - file.data()));
  const std::string_view kind = file.substr(std::min(file.size(), 1 + kDigits));
  if (!file.starts_with('-') || (!kind.starts_with(kMark) && kind != kHosts)) return {};
  return pid;
}

std::string place_text(const cairn::Config& config) { return "[storage] global = " + config.storage.global; }

bool is_own_file(const fs::path& path) {
  struct stat status = {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid();
}

bool is_dead(pid_t pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; }

// A run that was killed could not remove its files.
void remove_files_of_the_killed(const fs::path& global, const std::string& place) {
  std::error_code ignored;
  std::vector<fs::path> left;
  for (fs::directory_iterator it(global, ignored), end; !ignored && it != end; it.increment(ignored)) {
    const auto owner = owner_of(it->path().filename().string(), place);
    if (owner && is_dead(*owner) && is_own_file(it->path())) left.push_back(it->path());
  }
  for (const fs::path& file : left) fs::remove(file, ignored);
}

}  // namespace

std::string name_of_run(const std::string& host) {
  std::string place = place_of_runs(host);
  if (place.empty()) place = host + "-";
  return fmt::format("{}{}-{:08x}", place, ::getpid(), std::random_device{}());
}

Result<std::unique_ptr<JobFiles>> JobFiles::make(const cairn::Config& config, const std::string& host,
                                                 const std::string& name) {
  std::error_code error;
  const auto global = fs::absolute(config.storage.global, error);
  if (!error) fs::create_directories(global, error);
  if (error) {
    return fail(Code::config, fmt::format("{}: cannot be made: {}", place_text(config), error.message()),
                "ckpt-run needs this directory too");
  }
  remove_files_of_the_killed(global, place_of_runs(host));
  const auto base = (global / fmt::format("{}{}", kPrefix, name)).string();
  // As the job's heads have it: whoever reads its records must be able to tell them from forged ones.
  auto sealer = cairn::make_sealer(config.integrity.key_file, config.job.name);
  if (!sealer) return fail(sealer.error().in("[integrity] key_file"));
  std::unique_ptr<JobFiles> files(
      new JobFiles(config, std::move(*sealer), fmt::format("{}{}", base, kMark), fmt::format("{}{}", base, kHosts)));
  if (auto status = files->clear_marks(); !status) return fail(status.error());
  return files;
}

JobFiles::~JobFiles() {
  remove_marks();
  std::error_code ignored;
  fs::remove(mark_path_, ignored);
  fs::remove(hosts_path_, ignored);
}

// Marks of sessions.
void JobFiles::remove_marks() const {
  std::error_code ignored;
  const std::string prefix = fs::path(mark_path_).filename().string() + ".";
  std::vector<fs::path> ours;
  for (fs::directory_iterator it(fs::path(mark_path_).parent_path(), ignored), end; !ignored && it != end;
       it.increment(ignored)) {
    if (it->path().filename().string().starts_with(prefix)) ours.push_back(it->path());
  }
  for (const fs::path& file : ours) fs::remove(file, ignored);
}

Status JobFiles::clear_marks() const {
  std::error_code error;
  const fs::path directory = fs::path(mark_path_).parent_path();
  fs::create_directories(directory, error);
  if (error) return fail(Code::io, fmt::format("{}: cannot be made: {}", place_text(config_), error.message()));
  remove_marks();
  for (const std::string& path : {mark_path_, cairn::mark_of_session(mark_path_, session_name(config_))})
    if (auto status = write_mark(path, CompletionMark{}); !status) return fail(status.error().in(place_text(config_)));
  return {};
}

cairn::Marks JobFiles::marks_and(const std::vector<RunRecord>& lives) const {
  using Kind = CompletionMark::Kind;
  auto all = marks();
  const std::string path = cairn::mark_of_session(mark_path_, session_name(config_));
  const auto mark = all.sessions.find(path);
  const bool is_gone = mark == all.sessions.end();
  if (!is_gone && mark->second.kind != Kind::opened) return all;
  // A mark that names another life than the finished one is of a later session of the same launch, which is open.
  const bool finished =
      is_gone ? !lives.empty() && lives.front().finished : std::ranges::any_of(lives, [&](const RunRecord& life) {
        return life.finished && life.run == mark->second.run;
      });
  if (finished) all.sessions[path] = {Kind::finished, {}};
  return all;
}

Result<std::string> JobFiles::write_hosts(const std::string& host_list) const {
  std::ofstream out(hosts_path_);
  out << host_list << std::flush;
  if (!out) return fail(Code::io, hosts_path_ + ": cannot be written");
  return hosts_path_;
}

Result<std::vector<RunRecord>> JobFiles::records() const {
  const auto global = cairn::PosixStore::open_existing(config_.storage.global, config_.job.name);
  if (!global && global.error().code == Code::not_found) return std::vector<RunRecord>{};
  if (!global) return fail(global.error());
  auto survey = cairn::take_survey({{}, *global, sealer_});
  if (!survey) return fail(survey.error());
  return std::move(survey->runs);
}

}  // namespace ckpt_run
