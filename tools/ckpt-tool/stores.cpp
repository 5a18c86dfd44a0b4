#include "stores.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands.hpp"
#include "config/config.hpp"
#include "config/config_keys.hpp"
#include "store/names.hpp"
#include "store/posix/posix_store.hpp"

namespace ckpt_tool {
namespace {

namespace fs = std::filesystem;
using cairn::Code;
using cairn::fail;
using cairn::Result;
using cairn::Status;

// A directory that the user points at.
struct Directory {
  std::string path;
  std::string named_by;  // "--local", "[storage] local of heat.ini"
};

struct Directories {
  std::vector<Directory> locals;
  std::vector<Directory> globals;  // at most one
};

std::string source_of(const char* key, const std::string& value, const std::string& standard, const std::string& ini) {
  const std::string variable = cairn::find_key("storage", key)->variable();
  if (std::getenv(variable.c_str()) != nullptr) return variable;
  return value == standard ? fmt::format("the default of [storage] {}", key)
                           : fmt::format("[storage] {} of {}", key, ini);
}

// Takes what the command line leaves out from the configuration.
Result<Directories> fill_in_from_config(Target& target) {
  Directories places;
  for (const std::string& local : target.locals) places.locals.push_back({local, "--local"});
  if (!target.global.empty()) places.globals.push_back({target.global, "--global"});
  if (target.config.empty()) return places;
  const auto source = cairn::read_config_source(target.config);
  if (!source) return fail(source.error());
  const auto config = cairn::parse_config(*source);
  if (!config) return fail(config.error());
  const cairn::Config standard;
  const auto place_of = [&](const char* key, const std::string& value, const std::string& otherwise) {
    return std::vector<Directory>{{value, source_of(key, value, otherwise, target.config)}};
  };
  if (places.locals.empty()) places.locals = place_of("local", config->storage.local, standard.storage.local);
  if (places.globals.empty()) places.globals = place_of("global", config->storage.global, standard.storage.global);
  if (target.job.empty()) target.job = config->job.name;
  if (target.key_file.empty()) target.key_file = config->integrity.key_file;
  return places;
}

// Names them all.
cairn::Error no_such_directory(const std::vector<Directory>& missing) {
  std::vector<std::string> paths;
  std::vector<std::string> sources;
  bool relative = false;
  for (const Directory& place : missing) {
    std::error_code error;
    paths.push_back(fs::absolute(place.path, error).lexically_normal().string());
    relative = relative || fs::path(place.path).is_relative();
    if (std::ranges::find(sources, place.named_by) == sources.end()) sources.push_back(place.named_by);
  }
  const bool one = paths.size() == 1;
  const char* const where = relative ? "in the working directory of the job"
                            : one    ? "on a host that has it"
                                     : "on a host that has them";
  return {Code::not_found, fmt::format("{}: no such director{}", fmt::join(paths, ", "), one ? "y" : "ies"),
          fmt::format("named by {}; correct the path, or run ckpt-tool {}", fmt::join(sources, " and "), where)};
}

// Takes out the places that do not exist; fails if there are no others, or if one is no directory.
Status keep_directories(Directories& places) {
  std::vector<Directory> missing;
  for (std::vector<Directory>* some : {&places.locals, &places.globals}) {
    for (const Directory& place : *some) {
      std::error_code error;
      const auto status = fs::status(place.path, error);
      if (status.type() == fs::file_type::not_found)
        missing.push_back(place);
      else if (fs::exists(status) && !fs::is_directory(status))
        return fail(Code::invalid_argument, fmt::format("{}: not a directory", place.path),
                    fmt::format("named by {}; name the directory that holds the stores", place.named_by));
    }
    std::erase_if(*some, [&](const Directory& place) {
      return std::ranges::find(missing, place.path, &Directory::path) != missing.end();
    });
  }
  if (missing.empty()) return {};
  const cairn::Error error = no_such_directory(missing);
  if (places.locals.empty() && places.globals.empty()) return fail(error);
  complain("skipped: " + error.text());
  return {};
}

// Directories in `path`, in name order; none when it cannot be listed.
std::vector<std::string> directories_in(const fs::path& path) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    if (it->is_directory(gone)) found.push_back(it->path().filename().string());
  }
  std::ranges::sort(found);
  return found;
}

bool is_node_directory(const std::string& name) {
  constexpr std::string_view kPrefix = "node";
  if (!name.starts_with(kPrefix) || name.size() < kPrefix.size() + 4) return false;
  return std::ranges::all_of(name.substr(kPrefix.size()), [](unsigned char c) { return std::isdigit(c) != 0; });
}

// The places that may have a job's directory: DIR itself and the simulated nodes below it.
std::vector<std::string> node_roots(const std::vector<Directory>& locals) {
  std::vector<std::string> roots;
  for (const auto& [local, named_by] : locals) {
    roots.push_back(local);
    for (const std::string& name : directories_in(local)) {
      if (is_node_directory(name)) roots.push_back(local + "/" + name);
    }
  }
  return roots;
}

bool looks_like_a_job(const fs::path& directory) {
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name == "recycle" || name == cairn::names::calls().path || cairn::names::parse_snapshot(name) ||
        cairn::names::parse_run_record(name))
      return true;
  }
  return false;
}

std::set<std::string> jobs_in(const std::vector<std::string>& roots) {
  std::set<std::string> jobs;
  for (const std::string& root : roots) {
    for (const std::string& name : directories_in(root)) {
      if (!is_node_directory(name) && looks_like_a_job(fs::path(root) / name)) jobs.insert(name);
    }
  }
  return jobs;
}

Result<std::string> only_job(const std::vector<std::string>& roots, const std::string& places) {
  const std::set<std::string> jobs = jobs_in(roots);
  if (jobs.size() == 1) return *jobs.begin();
  if (jobs.empty()) {
    return fail(Code::not_found, fmt::format("no snapshots of any job in {}", places),
                "give the directories in [storage] local and global");
  }
  return fail(Code::invalid_argument, fmt::format("{} hold several jobs: {}", places, fmt::join(jobs, ", ")),
              fmt::format("choose one, for instance --job {}", *jobs.begin()));
}

// A store that does not exist, or is removed meanwhile, is skipped; one that cannot be read is an error.
Status open_if_there(const std::string& root, const std::string& job, std::set<fs::path>& seen,
                     std::shared_ptr<const cairn::Store>& into) {
  auto store = cairn::PosixStore::open_existing(root, job);
  if (!store && store.error().code == Code::not_found) return {};
  if (!store) {
    auto error = store.error();
    // Its hint is for the job that writes there.
    error.hint = "run ckpt-tool as the job's user, or as a user who may read everything";
    return fail(std::move(error));
  }
  std::error_code error;
  const fs::path path = fs::canonical(fs::path(root) / job, error);
  if (error || seen.insert(path).second) into = std::move(*store);
  return {};
}

}  // namespace

std::string OpenStores::places_text() const { return fmt::format("{}", fmt::join(places, ", ")); }

cairn::Error OpenStores::nothing(std::string_view what) const {
  return {Code::not_found, fmt::format("no {} of job {} in {}", what, job, places_text()),
          jobs.empty() ? "" : fmt::format("--job may be one of: {}", fmt::join(jobs, ", "))};
}

Result<OpenStores> open_stores(Target target) {
  auto places = fill_in_from_config(target);
  if (!places) return fail(places.error());
  if (places->locals.empty() && places->globals.empty()) {
    return fail(Code::invalid_argument, "no stores are named",
                "give --config FILE, --local DIR or --global DIR; see ckpt-tool --help");
  }
  if (auto status = keep_directories(*places); !status) return fail(status.error());
  OpenStores opened;
  const auto roots = node_roots(places->locals);
  auto all = roots;
  for (const Directory& place : places->globals) all.push_back(place.path);
  for (const auto* some : {&places->locals, &places->globals}) {
    for (const Directory& place : *some) opened.places.push_back(place.path);
  }
  if (target.job.empty()) {
    auto job = only_job(all, opened.places_text());
    if (!job) return fail(job.error());
    target.job = std::move(*job);
  }
  opened.job = target.job;
  auto sealer = cairn::make_sealer(target.key_file, opened.job);
  if (!sealer) return fail(sealer.error().in("the key"));
  opened.stores.sealer = std::move(*sealer);

  std::set<fs::path> seen;
  for (const std::string& root : roots) {
    std::shared_ptr<const cairn::Store> store;
    if (auto status = open_if_there(root, target.job, seen, store); !status) return fail(status.error());
    if (store) opened.stores.nodes.push_back(std::move(store));
  }
  for (const Directory& place : places->globals) {
    if (auto status = open_if_there(place.path, target.job, seen, opened.stores.global); !status)
      return fail(status.error());
  }
  if (opened.empty()) opened.jobs = jobs_in(all);
  return opened;
}

}  // namespace ckpt_tool
