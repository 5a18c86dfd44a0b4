#include "stores.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/config.hpp"
#include "store/names.hpp"
#include "store/posix/posix_store.hpp"

namespace ckpt_tool {
namespace {

namespace fs = std::filesystem;
using cairn::Code;
using cairn::fail;
using cairn::Result;
using cairn::Status;

Status fill_in_from_config(Target& target) {
  if (target.config.empty()) return {};
  const auto source = cairn::read_config_source(target.config);
  if (!source) return fail(source.error());
  const auto config = cairn::parse_config(*source);
  if (!config) return fail(config.error());
  if (target.locals.empty()) target.locals = {config->storage.local};
  if (target.global.empty()) target.global = config->storage.global;
  if (target.job.empty()) target.job = config->job.name;
  if (target.key_file.empty()) target.key_file = config->integrity.key_file;
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
std::vector<std::string> node_roots(const std::vector<std::string>& locals) {
  std::vector<std::string> roots;
  for (const std::string& local : locals) {
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

Result<std::string> only_job(const std::vector<std::string>& roots, const std::string& places) {
  std::set<std::string> jobs;
  for (const std::string& root : roots) {
    for (const std::string& name : directories_in(root)) {
      if (!is_node_directory(name) && looks_like_a_job(fs::path(root) / name)) jobs.insert(name);
    }
  }
  if (jobs.size() == 1) return *jobs.begin();
  if (jobs.empty()) {
    return fail(Code::not_found, fmt::format("no job's snapshots in {}", places),
                "give the directories that [storage] local and global name");
  }
  return fail(Code::invalid_argument, fmt::format("{} hold several jobs: {}", places, fmt::join(jobs, ", ")),
              fmt::format("say which, for instance --job {}", *jobs.begin()));
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

Result<OpenStores> open_stores(Target target) {
  if (auto status = fill_in_from_config(target); !status) return fail(status.error());
  if (target.locals.empty() && target.global.empty()) {
    return fail(Code::invalid_argument, "no stores are named",
                "give --config FILE, or --local DIR and --global DIR; see ckpt-tool --help");
  }
  OpenStores opened;
  opened.places = target.locals;
  if (!target.global.empty()) opened.places.push_back(target.global);
  const auto roots = node_roots(target.locals);
  if (target.job.empty()) {
    auto all = roots;
    if (!target.global.empty()) all.push_back(target.global);
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
  if (!target.global.empty()) {
    if (auto status = open_if_there(target.global, target.job, seen, opened.stores.global); !status)
      return fail(status.error());
  }
  if (!opened.stores.nodes.empty() || opened.stores.global) return opened;
  return fail(Code::not_found, fmt::format("no files of job {} in {}", target.job, opened.places_text()));
}

}  // namespace ckpt_tool
