#include <algorithm>

#include <fmt/format.h>

#include "engine/engine.hpp"

namespace cairn {

Result<bool> Engine::finish() {
  if (finished_ || finalize_requests_.size() < ranks_.size()) return false;
  const auto span = node_.trace.span("finish");
  std::uint64_t wishes[2] = {keep_going_ ? 1U : 0U, abandoned_ ? 1U : 0U};
  if (auto status = setup_.heads.allreduce(wishes, Reduce::max); !status) return fail(status.error());
  Status status;
  if (wishes[1] == 0) status = end_chain(wishes[0] != 0);
  if (!status && status.error().code == Code::communication) return fail(status.error());
  if (wishes[1] == 0 && measured_) {
    measured_->ended = true;
    keep(*measured_);
  }
  Finalized finalized;
  if (!status) finalized.error = status.error();
  tell_all(finalized);
  finished_ = true;
  return true;
}

// The newest snapshot goes to L4. A finished chain then empties the node stores; nothing is removed before that is
// safe.
Status Engine::end_chain(bool keep_going) {
  const auto newest = std::ranges::find_if(known_.rbegin(), known_.rend(),
                                           [](const auto& entry) { return !entry.second.complete.empty(); });
  if (usable_.has(LevelId::global) && newest != known_.rend() && !newest->second.complete.has(LevelId::global)) {
    Known& known = newest->second;
    const Status status = levels_.at(LevelId::global)->protect(setup_.heads, node_, known.manifest, 0);
    if (!status)
      return fail(status.error().in(
          fmt::format("the last version, {}, did not reach L4", known.manifest.identity.version.value)));
    known.complete.add(LevelId::global);
    tell_all(Reached{known.manifest.identity.version, LevelId::global});
    retire_old();
  }
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

}  // namespace cairn
