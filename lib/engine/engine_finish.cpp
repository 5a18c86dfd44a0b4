#include <algorithm>

#include <fmt/format.h>

#include "engine/engine.hpp"

namespace cairn {

Result<bool> Engine::finish() {
  if (finished_ || finalize_requests_.size() < ranks_.size()) return false;
  const auto span = node_.trace.span("finish");
  const Status status = end();
  if (!status && status.error().code == Code::communication) return fail(status.error());
  Finalized finalized;
  if (!status) finalized.error = status.error();
  tell_all(finalized);
  finished_ = true;
  return true;
}

Status Engine::end() {
  std::uint64_t wishes[4] = {wishes_.keep_going ? 1U : 0U, wishes_.abandoned ? node_.me.value + 1 : 0U,
                             wishes_.undefined ? 1U : 0U, has_nothing_of_its_own() ? 1U : 0U};
  if (auto status = setup_.heads.allreduce(wishes, Reduce::max); !status) return status;
  if (wishes[1] != 0) {
    return fail(Code::failed_elsewhere,
                fmt::format("a rank of node {} dropped its session without finalize: snapshots are left as they are",
                            wishes[1] - 1),
                "call finalize on every application rank");
  }
  if (wishes[2] != 0) return {};
  if (wishes[3] != 0) {
    if (leads()) {
      node_.log.warning(
          "finalize came without restore() and without a snapshot: the snapshots of earlier runs are left as they are");
    }
    return {};
  }
  Status status = end_chain(wishes[0] != 0);
  if (measured_ && (status || status.error().code != Code::communication)) {
    measured_->ended = true;
    keep(*measured_);
  }
  return status;
}

// It neither restored nor took a snapshot. What earlier lives have left is then not this one's to end.
bool Engine::has_nothing_of_its_own() const {
  if (record_.parent != RunRecord::Parent::undecided) return false;
  if (setup_.options.start == EngineOptions::Start::fresh || chain_.finished) return false;
  return !known_.empty() || chain_.has_snapshots;
}

// The job's last state goes to L4. A finished chain then empties the node stores; nothing is removed before that is
// safe.
Status Engine::end_chain(bool keep_going) {
  if (auto status = raise_state(); !status) return status;
  if (keep_going || !setup_.options.finished_at_end) return {};

  record_.finished = true;
  if (record_.parent == RunRecord::Parent::undecided) record_.parent = RunRecord::Parent::fresh;
  if (auto status = agree(setup_.heads, leads() ? write_run_record(*node_.global, record_) : Status{}, "node"); !status)
    return status;
  auto empty = [&]() -> Status {
    for (const auto& [id, known] : known_) {
      if (auto status = retire(node_.dir(id)); !status) return status;
    }
    retire_orphans();
    return node_.local->clean();
  };
  return agree(setup_.heads, empty(), "node");
}

// Snapshots of an earlier chain are not the job's state, whatever is still known of them.
Status Engine::raise_state() {
  if (!usable_.has(LevelId::global) || !state_) return {};
  const auto found = known_.find(*state_);
  if (found == known_.end() || found->second.complete.empty() || found->second.complete.has(LevelId::global)) return {};
  Known& known = found->second;
  const auto status = levels_.at(LevelId::global)->protect(setup_.heads, node_, known.manifest, 0);
  if (!status) {
    return fail(status.error().in(
        fmt::format("the last version, {}, did not reach L4", known.manifest.identity.version.value)));
  }
  known.complete.add(LevelId::global);
  tell_all(Reached{known.manifest.identity.version, LevelId::global});
  retire_old();
  return {};
}

}  // namespace cairn
