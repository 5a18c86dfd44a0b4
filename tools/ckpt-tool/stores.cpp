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

// Directories that are there and cannot be read, with the reason: "DIR: Permission denied".
using Closed = std::vector<std::string>;

// Calls `take` with each entry of `path`, until it returns false. Notes a directory that cannot be listed.
template <class Take>
void for_each_in(const fs::path& path, Closed& closed, Take take) {
  std::error_code error;
  fs::directory_iterator it(path, error);
  for (const fs::directory_iterator end; !error && it != end; it.increment(error)) {
    if (!take(*it)) return;
  }
  if (error && error != std::errc::no_such_file_or_directory)
    closed.push_back(fmt::format("{}: {}", path.string(), error.message()));
}

// Directories in `path`, in name order.
std::vector<std::string> directories_in(const fs::path& path, Closed& closed) {
  std::vector<std::string> found;
  for_each_in(path, closed, [&](const fs::directory_entry& entry) {
    std::error_code gone;
    if (entry.is_directory(gone)) found.push_back(entry.path().filename().string());
    return true;
  });
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
  Closed closed;  // jobs_at() reports them
  for (const auto& [local, named_by] : locals) {
    roots.push_back(local);
    for (const std::string& name : directories_in(local, closed)) {
      if (is_node_directory(name)) roots.push_back(local + "/" + name);
    }
  }
  return roots;
}

bool looks_like_a_job(const fs::path& directory, Closed& closed) {
  bool found = false;
  for_each_in(directory, closed, [&](const fs::directory_entry& entry) {
    const std::string name = entry.path().filename().string();
    found = name == "recycle" || name == cairn::names::calls().path || cairn::names::parse_snapshot(name) ||
            cairn::names::parse_run_record(name);
    return !found;
  });
  return found;
}

std::set<std::string> jobs_in(const Places& places, Closed& closed) {
  std::set<std::string> jobs;
  for (const auto* roots : {&places.node_roots, &places.globals}) {
    for (const std::string& root : *roots) {
      for (const std::string& name : directories_in(root, closed)) {
        if (!is_node_directory(name) && looks_like_a_job(fs::path(root) / name, closed)) jobs.insert(name);
      }
    }
  }
  return jobs;
}

constexpr const char* kReadAsUser = "run ckpt-tool as the job's user, or as a user who may read everything";

Result<std::string> only_job(const Places& places) {
  const auto jobs = jobs_at(places);
  if (!jobs) return fail(jobs.error());
  if (jobs->size() == 1) return *jobs->begin();
  return fail(Code::invalid_argument, fmt::format("{} hold several jobs: {}", places.text(), fmt::join(*jobs, ", ")),
              fmt::format("choose one, for instance --job {}", *jobs->begin()));
}

// A store that does not exist, or is removed meanwhile, is skipped; one that cannot be read is an error.
Status open_if_there(const std::string& root, const std::string& job, std::set<fs::path>& seen,
                     std::shared_ptr<const cairn::Store>& into) {
  auto store = cairn::PosixStore::open_existing(root, job);
  if (!store && store.error().code == Code::not_found) return {};
  if (!store) {
    auto error = store.error();
    // Its hint is for the job that writes there.
    error.hint = kReadAsUser;
    return fail(std::move(error));
  }
  std::error_code error;
  const fs::path path = fs::canonical(fs::path(root) / job, error);
  if (error || seen.insert(path).second) into = std::move(*store);
  return {};
}

}  // namespace

std::string Places::text() const { return fmt::format("{}", fmt::join(named, ", ")); }

std::string OpenStores::places_text() const { return fmt::format("{}", fmt::join(places, ", ")); }

cairn::Error OpenStores::nothing(std::string_view what) const {
  return {Code::not_found, fmt::format("no {} of job {} in {}", what, job, places_text()),
          jobs.empty() ? "" : fmt::format("--job may be one of: {}", fmt::join(jobs, ", "))};
}

Result<Places> find_places(Target target) {
  auto named = fill_in_from_config(target);
  if (!named) return fail(named.error());
  if (named->locals.empty() && named->globals.empty()) {
    return fail(Code::invalid_argument, "no stores are named",
                "give --config FILE, --local DIR or --global DIR; see ckpt-tool --help");
  }
  if (auto status = keep_directories(*named); !status) return fail(status.error());
  Places places{std::move(target.job), std::move(target.key_file), {}, node_roots(named->locals), {}};
  for (const Directory& place : named->locals) places.named.push_back(place.path);
  for (const Directory& place : named->globals) {
    places.named.push_back(place.path);
    places.globals.push_back(place.path);
  }
  return places;
}

Result<std::set<std::string>> jobs_at(const Places& places) {
  Closed closed;
  auto jobs = jobs_in(places, closed);
  if (!jobs.empty()) return jobs;
  if (closed.empty()) {
    return fail(Code::not_found, fmt::format("no snapshots of any job in {}", places.text()),
                "give the directories in [storage] local and global");
  }
  return fail(Code::io, fmt::format("no job was found, because not all could be read: {}", fmt::join(closed, "; ")),
              kReadAsUser);
}

Result<OpenStores> open_job(const Places& places, const std::string& job) {
  OpenStores opened;
  opened.job = job;
  opened.places = places.named;
  auto sealer = cairn::make_sealer(places.key_file, job);
  if (!sealer) return fail(sealer.error().in("the key"));
  opened.stores.sealer = std::move(*sealer);

  std::set<fs::path> seen;
  for (const std::string& root : places.node_roots) {
    std::shared_ptr<const cairn::Store> store;
    if (auto status = open_if_there(root, job, seen, store); !status) return fail(status.error());
    if (!store) continue;
    opened.stores.nodes.push_back(std::move(store));
    opened.node_roots.push_back(root);
  }
  for (const std::string& root : places.globals) {
    if (auto status = open_if_there(root, job, seen, opened.stores.global); !status) return fail(status.error());
    opened.global_root = root;
  }
  Closed closed;
  if (opened.empty()) opened.jobs = jobs_in(places, closed);
  return opened;
}

Result<OpenStores> open_stores(Target target) {
  auto places = find_places(std::move(target));
  if (!places) return fail(places.error());
  if (places->job.empty()) {
    auto job = only_job(*places);
    if (!job) return fail(job.error());
    places->job = std::move(*job);
  }
  return open_job(*places, places->job);
}

}  // namespace ckpt_tool
