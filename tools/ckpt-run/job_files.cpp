#include "job_files.hpp"

#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>
#include <vector>

#include "engine/survey.hpp"
#include "store/posix_store.hpp"

namespace ckpt_run {
namespace {

namespace fs = std::filesystem;
using cairn::Code;
using cairn::CompletionMark;
using cairn::fail;
using cairn::Result;
using cairn::RunRecord;
using cairn::Status;

}  // namespace

Result<std::unique_ptr<JobFiles>> JobFiles::make(const cairn::Config& config, const std::string& name) {
  std::error_code error;
  const auto global = fs::absolute(config.storage.global, error);
  if (!error) fs::create_directories(global, error);
  if (error) {
    return fail(Code::config, "[storage] global = " + config.storage.global + ": cannot be made: " + error.message(),
                "ckpt-run needs it, too");
  }
  const auto base = (global / (".ckpt-run-" + name)).string();
  // As the job's heads have it: whoever reads its records must be able to tell them from forged ones.
  auto sealer = cairn::make_sealer(config.integrity.key_file, config.job.name);
  if (!sealer) return fail(sealer.error().in("[integrity] key_file"));
  std::unique_ptr<JobFiles> files(new JobFiles(config, std::move(*sealer), base + ".mark", base + ".hosts"));
  if (auto status = files->clear_mark(); !status) return fail(status.error());
  return files;
}

// With what a rank that was killed while it left a mark has left beside it.
JobFiles::~JobFiles() {
  std::error_code ignored;
  const std::string mark = fs::path(mark_path_).filename();
  std::vector<fs::path> ours{hosts_path_};
  for (fs::directory_iterator it(fs::path(mark_path_).parent_path(), ignored), end; !ignored && it != end;
       it.increment(ignored)) {
    if (it->path().filename().string().starts_with(mark)) ours.push_back(it->path());
  }
  for (const fs::path& file : ours) fs::remove(file, ignored);
}

Status JobFiles::clear_mark() const { return write_mark(mark_path_, CompletionMark{}); }

CompletionMark JobFiles::mark() const { return cairn::read_mark(mark_path_).value_or(CompletionMark{}); }

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
