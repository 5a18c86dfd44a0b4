#include "door/veloc/jobs.hpp"

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <cairn/error.hpp>

#include "door/veloc/own_mpi.hpp"
#include "door/veloc/say.hpp"

namespace cairn::door {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> environment(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

void make_directory(const std::string& path, const char* key) {
  std::error_code error;
  fs::create_directory(path, error);
  if (fs::is_directory(path, error)) return;
  throw Exception(ErrorKind::config, fmt::format("{} = {} is no directory and cannot be made: {}", key, path,
                                                 error ? error.message() : "its parent is missing"));
}

Settings read_settings(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || !file.good()) throw Exception(ErrorKind::config, fmt::format("{} cannot be read", path));
  Settings settings = parse_settings(text.str(), path, environment);
  make_directory(settings.scratch, "scratch");
  make_directory(settings.persistent, "persistent");
  if (environment("CAIRN_JOB_NAME"))
    throw Exception(ErrorKind::config, "CAIRN_JOB_NAME is set, but each checkpoint name is a job of its own: unset it");
  return settings;
}

// An error of one rank fails the call on all of them. Those that have one say it, or rank 0 alone if it has one. All
// wait until it is said, since a program may end the job at once. Collective.
template <class Call>
auto agreed(const Meeting& meeting, const std::string& what, const std::string& concerns, Call call) {
  decltype(call()) result{};
  std::optional<std::string> failed;
  try {
    result = call();
  } catch (const std::exception& error) {
    failed = error.what();
  }
  const bool leads = meeting.rank() == 0;
  const Met met = meeting.meet(what, {.fine = !failed, .mine = failed && leads});
  if (met.all_fine) return result;
  if (failed && (leads || !met.any)) say(fmt::format("{}: {}", concerns, *failed));
  meeting.wait_for_all();
  throw Reported(ErrorKind::usage, fmt::format("{} has failed", what));
}

}  // namespace

Jobs::Jobs(MPI_Comm comm, const std::string& config, std::optional<unsigned> id, std::function<void()> at_mpi_end)
    : meeting_(comm),
      id_(id),
      settings_(agreed(meeting_, "VELOC_Init", "VELOC_Init", [&] { return read_settings(config); })),
      at_end_(std::move(at_mpi_end)) {}

std::string Jobs::job_of(const std::string& name) const { return id_ ? fmt::format("{}-{}", name, *id_) : name; }

std::string Jobs::node_store_of(const std::string& name) const { return settings_.scratch + "/" + job_of(name); }

std::string Jobs::path_of(const std::string& name, int version) const {
  return fmt::format("{}/{}-{}-{}.dat", settings_.scratch, job_of(name), id_ ? *id_ : meeting_.rank(), version);
}

// Rank 0 writes it for all, and a later ckpt-tool. Names have no '-', so it is nobody's directory.
std::string Jobs::write_ini(const std::string& name) const {
  const std::string path = fmt::format("{}/veloc-{}.ini", settings_.persistent, job_of(name));
  if (meeting_.rank() != 0) return path;
  const std::string unfinished = path + ".new";
  std::error_code error;
  {
    std::ofstream file(unfinished, std::ios::trunc);
    file << ini_of(settings_, job_of(name), node_store_of(name));
    file.flush();
    if (!file) throw Exception(ErrorKind::storage, fmt::format("{} cannot be written", unfinished));
  }
  fs::rename(unfinished, path, error);
  if (error) throw Exception(ErrorKind::storage, fmt::format("{} cannot be written: {}", path, error.message()));
  return path;
}

Job& Jobs::open(const std::string& name) {
  auto& job = jobs_[name];
  if (job) return *job;
  const std::string concerns = fmt::format("checkpoints of {}", name);
  try {
    const std::string ini = agreed(meeting_, "opening " + name, concerns, [&] { return write_ini(name); });
    job = std::make_unique<Job>(meeting_, name, ini, most_versions(settings_));
  } catch (const Reported&) {
    jobs_.erase(name);
    throw;
  } catch (const Exception& error) {
    jobs_.erase(name);
    const ErrorKind kind = error.kind() == ErrorKind::usage ? ErrorKind::config : error.kind();  // of all ranks
    meeting_.report(kind, fmt::format("{}: {}", concerns, error.what()));
  }
  at_end_.arm();
  end_own_mpi_at_exit();
  return *job;
}

void Jobs::take(const std::string& name, int version, const Content& content) {
  Job& job = open(name);
  const bool is_first = !job.has_taken();
  job.take(version, content);
  if (is_first) end_own_mpi_at_exit();
}

void Jobs::wait() {
  for (auto& [name, job] : jobs_) job->wait();
}

bool Jobs::are_finished() {
  const LevelId level = settings_.persistent_interval == 0 ? LevelId::global : LevelId::local;
  for (auto& [name, job] : jobs_) {
    if (!job->has_reached(level)) return false;
  }
  return true;
}

// The sessions stay: inside MPI_Finalize, they must not be destroyed.
void Jobs::finalize() {
  at_end_.disarm();
  std::exception_ptr first;
  for (auto& [name, job] : jobs_) {
    try {
      job->finalize();
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

void Jobs::clean_up(const std::string& name) {
  open(name).finalize();  // what is in the scratch directory only is written to the persistent one
  jobs_.erase(name);
  std::error_code ignored;  // other ranks of this node remove the same
  fs::remove_all(node_store_of(name), ignored);
  remove_files(name);
}

void Jobs::remove_files(const std::string& name) const {
  std::error_code ignored;
  const std::string mine = fmt::format("{}-{}-", job_of(name), id_ ? *id_ : meeting_.rank());
  for (const auto& entry : fs::directory_iterator(settings_.scratch, ignored)) {
    if (entry.path().filename().string().starts_with(mine)) fs::remove(entry.path(), ignored);
  }
}

// A process that was killed has left its file.
std::string Jobs::path_to_write(const std::string& name, int version) {
  if (has_file_.insert(name).second) remove_files(name);
  return path_of(name, version);
}

}  // namespace cairn::door
