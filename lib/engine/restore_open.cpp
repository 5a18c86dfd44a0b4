#include <utility>

#include <fmt/format.h>

#include "engine/restore_desk.hpp"

namespace cairn {
namespace {

// Nothing restores a snapshot of another number of ranks here: a program reads its old regions offline.
Error as_open(Error error) {
  if (error.code == Code::not_found) error = {Code::unrecoverable, "there is no snapshot to open", {}};
  if (error.code == Code::mismatch) error.hint = "to read it with another number of ranks, use ckpt-tool export";
  return error;
}

}  // namespace

bool RestoreDesk::opens() const { return seals_.request() && seals_.request()->call == SettledCall::open; }

bool RestoreDesk::closes() const { return seals_.request() && seals_.request()->call == SettledCall::close; }

// What the catalog knows stays as it is: this job may have a state, which is not restored.
Status RestoreDesk::learn_for_open() {
  if (opening_) return {};
  if (catalog_.retrieval) {
    opening_ = *catalog_.retrieval;
  } else {
    const auto contents = catalog_.look(life_.sealer());
    if (auto status = agree(head_.heads, contents ? Status{} : fail(contents.error()), "node"); !status) return status;
    auto state = make_state(*contents, {});
    if (!state) return fail(state.error());
    opening_ = std::move(*state);
    catalog_.add_shared(opening_->inventory);
  }
  opening_->elastic = false;
  opening_->aside = true;
  return {};
}

// As prepare_offer(), but a version that is named may be of any earlier life, even if this one began fresh.
Result<Offer> RestoreDesk::prepare_open() {
  if (auto status = learn_for_open(); !status) return fail(status.error());
  const auto chosen = version_to_choose();
  if (!chosen) return fail(chosen.error());
  opening_->chosen = *chosen;
  opening_->branch = catalog_.chain.branch;
  opening_->rejected = catalog_.rejected;
  opening_->not_before = chosen->value == 0 ? oldest_life({}) : Incarnation{};
  auto plan = make_plan_to_offer();
  if (!plan) return fail(as_open(plan.error()));
  Offer offer;
  describe(*plan, offer);
  plan_ = std::move(*plan);
  return offer;
}

// All ranks have opened it.
void RestoreDesk::hold() {
  opened_[plan_->snapshot.version] = plan_->snapshot;
  for (const Rank rank : head_.ranks) catalog_.hold(rank, plan_->snapshot);
}

// The room of what was held is given back when the next snapshot has been taken.
void RestoreDesk::close_open() {
  const RestoreRequest& request = *seals_.request();
  const Identity snapshot = opened_[request.version];
  for (const Rank rank : head_.ranks) catalog_.release(rank, snapshot);
  RestoreDone done;
  done.last_version = seals_.last_version();
  done.rejected = request.rejects;
  if (request.rejects) {
    catalog_.reject(snapshot);
    if (head_.node.leads())
      head_.node.log.warning("version {} was rejected by close(): it will not be restored", snapshot.version.value);
    life_.record_rejection(snapshot);
  }
  head_.requests.restore.clear();
  seals_.reopen();
  promoter_.free_slots();
  head_.tell_all(done);
}

}  // namespace cairn
