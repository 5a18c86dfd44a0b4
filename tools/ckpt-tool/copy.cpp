// copy: what a copy needs, and whether it may be made, is decided in lib/inspect/snapshot_copy.
#include <chrono>
#include <filesystem>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/drawn_number.hpp"
#include "commands.hpp"
#include "format/json_text.hpp"
#include "health_watch.hpp"
#include "inspect/snapshot_copy.hpp"
#include "progress_bar.hpp"
#include "store/posix/posix_store.hpp"
#include "text.hpp"

namespace ckpt_tool {
namespace {

using cairn::Code;
using cairn::CopyPlace;
using cairn::fail;
using cairn::PosixStore;
using cairn::Result;
using cairn::SnapshotReader;
using cairn::SnapshotView;
using cairn::Status;
using cairn::Store;

constexpr std::chrono::milliseconds kCopyPatience{1000};  // for the lock of another copy that is just ending

// What reads it, and where it goes.
struct Copy {
  OpenStores opened;
  cairn::Survey survey;
  SnapshotView snapshot;
  std::string where;  // the directory of the job there
};

Result<Copy> prepare(const CopyRequest& request) {
  auto opened = open_stores(request.target);
  if (!opened) return fail(opened.error());
  if (opened->empty()) return fail(opened->nothing("snapshots"));
  auto survey = take_survey(opened->stores);
  if (!survey) return fail(survey.error());
  auto snapshot = find_snapshot(*opened, *survey, request.version);
  if (!snapshot) return fail(snapshot.error());
  std::error_code error;
  if (opened->stores.global && std::filesystem::equivalent(request.to, opened->global_root, error))
    return fail(Code::invalid_argument, fmt::format("{} is the job's own global directory", request.to),
                "name another directory for the copy");
  const std::string where = request.to + "/" + opened->job;
  return Copy{std::move(*opened), std::move(*survey), std::move(*snapshot), where};
}

// A job that runs there removes what is being copied.
Status check_no_job(const CopyRequest& request, const Copy& copy, const std::shared_ptr<const Store>& there) {
  OpenStores stores{copy.opened.job, {}, {request.to}};
  stores.stores.global = there;
  stores.stores.sealer = copy.opened.stores.sealer;
  Target target = request.target;
  target.global = request.to;
  const auto watched = look_for_heads(target, stores);
  if (!watched) return fail(watched.error());
  if (!watched->now()) return {};
  return fail(Code::taken_over, fmt::format("a job runs in {}: {}", copy.where, watch_text(*watched)),
              "copy to another directory, or wait until it has ended");
}

Result<CopyPlace> look_there(const CopyRequest& request, const Copy& copy) {
  auto there = PosixStore::open_existing(request.to, copy.opened.job);
  if (!there && there.error().code != Code::not_found) return fail(there.error());
  if (there) {
    if (auto status = check_no_job(request, copy, *there); !status) return fail(status.error());
  }
  return look_at_copy_place(there ? there->get() : nullptr, copy.opened.stores.sealer, copy.survey,
                            copy.snapshot.identity, cairn::RunId{cairn::drawn_number()});
}

Status carry_out(const CopyRequest& request, const Copy& copy, SnapshotReader& reader) {
  cairn::PosixOptions options;
  options.lock_patience = kCopyPatience;
  const auto to = PosixStore::open(request.to, copy.opened.job, options);
  if (!to) return fail(to.error());
  const auto lock = (*to)->lock();
  if (!lock) return fail(lock.error());
  // It may have changed since it was looked at without the lock.
  const auto place = look_there(request, copy);
  if (!place) return fail(place.error());
  ProgressBar bar;
  auto status = copy_snapshot(reader, copy.snapshot, copy.opened.stores.sealer, **to, *place, bar.follow());
  bar.clear();
  return status;
}

void print(const CopyRequest& request, const Copy& copy, const SnapshotReader& reader, bool is_there) {
  fmt::print("{}: {}, {}\n", identity_text(copy.snapshot.identity), size_text(copy.snapshot.bytes),
             sources_text(reader.sources()));
  if (is_there)
    fmt::print("{} has it already\n", copy.where);
  else if (!request.yes)
    fmt::print("it would be written to {}; nothing is changed without --yes\n", copy.where);
  else
    fmt::print("copied to {}; a run restores it with [storage] global = {} and a new [storage] local\n", copy.where,
               request.to);
}

void print_json(const CopyRequest& request, const Copy& copy, const SnapshotReader& reader, bool is_there) {
  Json root{{"job", copy.opened.job}, {"dry_run", !request.yes}};
  put_identity(root, copy.snapshot.identity);
  root["to"] = copy.where;
  root["already"] = is_there;
  root["bytes"] = copy.snapshot.bytes;
  root["sources"] = Json::object();
  for (const auto& [level, ranks] : reader.sources()) root["sources"][level_text(level)] = numbers(ranks);
  fmt::print("{}\n", cairn::json_text(root, 1));
}

}  // namespace

Result<ExitCode> copy_version(const CopyRequest& request) {
  const auto copy = prepare(request);
  if (!copy) return fail(copy.error());
  auto reader = SnapshotReader::open(copy->opened.stores, copy->survey, copy->snapshot);
  if (!reader) return fail(reader.error());
  const auto place = look_there(request, *copy);
  if (!place) return fail(place.error());
  if (request.yes && !place->has_snapshot) {
    if (auto status = carry_out(request, *copy, *reader); !status)
      return fail(status.error().in(fmt::format("{} was not copied", copy->where)));
  }
  (request.json ? print_json : print)(request, *copy, *reader, place->has_snapshot);
  return kGood;
}

}  // namespace ckpt_tool
