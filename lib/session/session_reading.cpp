// Snapshots that are read without being restored: the heads bring this rank's shard and keep it while it is open.
#include <utility>

#include <fmt/format.h>

#include "session/offered_shards.hpp"
#include "session/open_snapshot_impl.hpp"
#include "session/session_impl.hpp"
#include "session/settling.hpp"

namespace cairn {
namespace {

// This rank's shard. Each block is checked, so that what is damaged can still come from elsewhere.
Result<Shard> open_checked(const Connection& here, const Offer& offer) {
  const auto span = here.trace.span("read", offer.snapshot.version.value);
  auto file = open_own(*here.local, offer, here.rank());
  if (!file) return fail(file.error());
  auto shard = Shard::of(*std::move(file));
  if (!shard) return shard;
  if (auto whole = check_blocks(*shard); !whole) return fail(whole.error().in_file(shard->name()));
  return shard;
}

}  // namespace

Result<std::unique_ptr<OpenSnapshotImpl>> SessionImpl::open_snapshot(const RestoreRequest& chosen) {
  if (auto status = state_.usable_now("open_snapshot"); !status) return fail(status.error());
  const WatchedCall watched(state_.watcher, CairnCall::open_snapshot);
  // Survivors do not repeat this call.
  if (state_.logged && (state_.is_replacement() || state_.logged->catches_up()))
    return fail(state_.logged->rolls_back("calls open_snapshot() before it has caught up").error());
  obstruct("has opened a snapshot", rollback::Until::end);
  auto span = state_.connection->trace.span("open snapshot");
  const bool names_one = chosen.version.value != 0 || !chosen.label.empty();
  RestoreRequest request = names_one ? chosen : request_for(state_, {});
  request.call = SettledCall::open;
  std::optional<Shard> shard;
  const auto look = [&](const Offer& offer) {
    auto mine = open_checked(*state_.connection, offer);
    if (!mine) return refused(state_, mine.error());
    shard = *std::move(mine);
    return RestoreResult{};
  };
  const auto accepted = settle_offer(state_, look, request, Restores::all);
  if (!accepted) return fail(accepted.error());
  span.set_version(accepted->snapshot.version);
  auto open = std::make_unique<OpenSnapshotImpl>(*this, accepted->snapshot, state_.link().restore_done->notes,
                                                 *std::move(shard));
  open_snapshots_.add(*open);
  return open;
}

Result<bool> SessionImpl::close_snapshot(OpenSnapshotImpl& open, bool good) {
  const WatchedCall watched(state_.watcher, CairnCall::close);
  const RestoreRequest request{.version = open.snapshot().version, .call = SettledCall::close, .rejects = !good};
  const Result<Offer> closed =
      state_.usable_now("close").and_then([&] { return settle_offer(state_, {}, request, Restores::all); });
  if (!closed) {
    drop(open);
    return fail(closed.error());
  }
  open_snapshots_.remove(open);
  return !state_.link().restore_done->rejected;
}

void SessionImpl::drop(OpenSnapshotImpl& open) {
  // Without a connection, there is nobody who holds it.
  if (state_.connection) (void)state_.link().send(Dropped{open.snapshot()});
  open_snapshots_.remove(open);
}

}  // namespace cairn
