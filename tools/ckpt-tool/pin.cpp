// pin and unpin: a pinned snapshot stays in the global store.
#include <fmt/format.h>

#include "base/drawn_number.hpp"
#include "commands.hpp"
#include "format/pins.hpp"
#include "inspect/snapshot_copy.hpp"
#include "locked_stores.hpp"
#include "progress_bar.hpp"

namespace ckpt_tool {
namespace {

using cairn::Code;
using cairn::fail;
using cairn::Result;
using cairn::SnapshotView;
using cairn::Status;
using cairn::Store;
using cairn::StoreId;
using cairn::Survey;

// A job that does not run, and the snapshot that is meant.
struct Chosen {
  OpenStores opened;
  LockedStores locked;
  Survey survey;
  SnapshotView snapshot;
  [[nodiscard]] Store& global() const { return *locked.stores.at(StoreId::global()); }
  [[nodiscard]] cairn::Sealer sealer() const { return opened.stores.sealer_at(StoreId::global()); }
};

Result<Chosen> choose(const PinRequest& request) {
  auto opened = open_stores(request.target);
  if (!opened) return fail(opened.error());
  if (opened->empty()) return fail(opened->nothing("snapshots"));
  if (!opened->stores.global)
    return fail(Code::invalid_argument, "there is no global store, where pins are kept", "name it with --global");
  auto locked = lock_stores(*opened);
  if (!locked) return fail(locked.error());
  if (auto status = check_no_heads(request.target, *opened); !status) return fail(status.error());
  auto survey = take_survey(opened->stores);
  if (!survey) return fail(survey.error());
  auto snapshot = find_snapshot(*opened, *survey, request.version);
  if (!snapshot) return fail(snapshot.error());
  return Chosen{std::move(*opened), std::move(*locked), std::move(*survey), std::move(*snapshot)};
}

}  // namespace

Result<ExitCode> pin_version(const PinRequest& request) {
  const auto chosen = choose(request);
  if (!chosen) return fail(chosen.error());
  ProgressBar bar;
  const auto was_there = pin_snapshot(chosen->opened.stores, chosen->survey, chosen->snapshot, chosen->global(),
                                      cairn::RunId{cairn::drawn_number()}, bar.follow());
  bar.clear();
  if (!was_there) return fail(was_there.error());
  fmt::print("pinned: {}{}\n", identity_text(chosen->snapshot.identity), *was_there ? "" : ", now also at L4");
  return kGood;
}

Result<ExitCode> unpin_version(const PinRequest& request) {
  const auto chosen = choose(request);
  if (!chosen) return fail(chosen.error());
  const cairn::Identity& snapshot = chosen->snapshot.identity;
  if (!chosen->survey.pins.contains(snapshot))
    return fail(Code::invalid_argument, fmt::format("version {} is not pinned", snapshot.version.value));
  if (auto status = unpin(chosen->global(), snapshot, chosen->sealer()); !status) return fail(status.error());
  fmt::print("not pinned any more: {}\n", identity_text(snapshot));
  return kGood;
}

}  // namespace ckpt_tool
