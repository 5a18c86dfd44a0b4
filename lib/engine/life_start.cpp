#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/life.hpp"
#include "recover/belonging.hpp"
#include "store/names.hpp"

namespace cairn {

// A new life has a number higher than any that any store has seen, and a random id in case two take the same. Nothing
// is written of it yet: a start that is refused must not disturb a job that runs.
Status Life::start(const RollCall& roll) {
  head_.node.incarnation.value = roll.newest.value + 1;
  if (auto status = learn_chain({}); !status) return status;
  head_.node.run = catalog_.chain.next;
  record_.incarnation = head_.node.incarnation;
  record_.run = catalog_.chain.next;
  head_.node.trace.begin(head_.node.incarnation);
  if (auto status = check_stores_belong(roll); !status) return status;
  if (auto status = judge_by_other_stores(roll); !status) return status;
  is_first_ = finds_nothing(roll);
  return check_unreadable(roll);
}

// Whether a start that finds the stores as they are now starts fresh in any case. A fresh start that the user has asked
// for may disown what is in a store that is away now.
bool Life::finds_nothing(const RollCall& roll) const {
  const Chain& chain = catalog_.chain;
  const bool has_mark = chain.mark || chain.mark_unknown || roll.chain.value != 0 || roll.mark_unknown;
  return roll.newest.value == 0 && chain.newest.value == 0 && !chain.has_snapshots && !roll.any_holdings &&
         !roll.unreadable && !has_mark && head_.options.start != EngineOptions::Start::fresh;
}

// All heads learn what head 0 has read of the chain, or why it could not.
Status Life::learn_chain(const Status& read) {
  const Levels& levels = head_.node.levels;
  Result<Chain> mine;  // that of other heads is not looked at
  if (head_.node.leads()) mine = read.map([&] { return catalog_.chain; });
  auto chain = share_chain(head_.heads, mine, levels.in_shared_stores() - levels.in_global_store());
  if (!chain) return fail(chain.error());
  chain->unreadable = std::move(catalog_.chain.unreadable);
  catalog_.chain = std::move(*chain);
  if (head_.options.after_end) catalog_.chain.finished = false;
  return {};
}

// With a key, the files of a global store cannot be checked without its mark. If node stores say which chain they are
// of, the files are read again and checked by that chain.
Status Life::judge_by_other_stores(const RollCall& roll) {
  if (!sealer_.has_key() || catalog_.chain.mark || roll.chain.value == 0) return {};
  Status read;
  const std::vector<Unreadable>& unreadable = catalog_.chain.unreadable;
  // A foreign mark is refused, or replaced with all that is beside it.
  if (head_.node.leads() && !unreadable.empty() && std::ranges::none_of(unreadable, &Unreadable::is_mark)) {
    head_.node.log.warning(
        "{}: {} is lost or cannot be read; the files there are checked with the one in the node stores",
        head_.node.global->where(), names::chain_mark().path);
    auto chain = read_chain(*head_.node.global, head_.node.log, sealer_, mark_.id);
    if (chain) {
      chain->next = catalog_.chain.next;
      catalog_.chain = std::move(*chain);
    }
    read = chain ? list_other_stores(head_.node, sealer_, catalog_.chain, mark_.id) : fail(chain.error());
  }
  return learn_chain(read);
}

Status Life::check_chain_is_known() const {
  const bool chain_is_new = mark_.id == head_.node.run;  // no store said which chain its files are of
  if (!is_undecided() || !chain_is_new || !has_unreadable() || !sealer_.has_key()) return {};
  const std::string mark = names::chain_mark().path;
  return fail(Code::corrupt,
              fmt::format("{} and the node stores have no undamaged {}. Files with a key cannot be checked "
                          "without it",
                          catalog_.chain.place, mark),
              fmt::format("make the {} of the global store or of a node store readable again; to give up all "
                          "snapshots, start once with CAIRN_RESTART_MODE=fresh ([restart] mode = fresh), which leaves "
                          "these files there",
                          mark));
}

// All node stores with snapshots must be of today's global store, or of one that was lost in its place.
Status Life::check_stores_belong(const RollCall& roll) {
  const bool known = catalog_.chain.mark.has_value();
  mark_ = {known ? catalog_.chain.mark->id : roll.chain, catalog_.chain.place};
  // A chain whose mark is there and cannot be read, and that no other store knows, gets no other: it would not be the
  // same.
  if (mark_.id.value == 0 && !catalog_.chain.mark_unknown && !roll.mark_unknown) mark_.id = catalog_.chain.next;
  if (mark_.id.value == 0 && sealer_.has_key()) {
    return fail(
        Code::io,
        fmt::format("the file {1} of {0} cannot be read now, and snapshots with a key cannot be checked without it",
                    catalog_.chain.mark_unknown ? catalog_.chain.place : "a node store", names::chain_mark().path),
        "make the store readable, and start again");
  }
  head_.node.sealer = sealer_.of_chain(mark_.id);
  if (roll.chain.value == 0 || (known && roll.one_chain && roll.chain == mark_.id)) return {};
  const Status mine = check_belongs(*head_.node.local, catalog_.contents.mark, mark_.id, known, catalog_.chain.place);
  return agree(head_.heads, mine, "node");
}

// It is not of the past; and a mark goes with a fresh start.
bool Life::matters(const Unreadable& what) const {
  return !past_.has(what) && !(what.is_mark() && head_.options.start == EngineOptions::Start::fresh);
}

// What cannot be read and is not of the past: what is not ours to judge is refused; anything else is something to lose.
Status Life::check_unreadable(const RollCall& roll) {
  const Chain& chain = catalog_.chain;
  past_ = {chain.past, chain.present, chain.fresh_start.value != 0, roll.newest_readable};
  if (!roll.unreadable) return {};
  const bool fresh = head_.options.start == EngineOptions::Start::fresh;
  Status mine;
  Unread found = Unread::none;
  const auto look = [&](const Store& store, const std::vector<Unreadable>& unreadable) {
    for (const Unreadable& what : unreadable) {
      if (!matters(what)) continue;
      found = std::max(found, what.kind());
      if (!what.is_others()) continue;
      const Error refusal = refusal_of(store, what);
      const char* becomes = what.file == names::chain_mark() ? "it is replaced" : "it is left there and ignored";
      if (fresh) head_.node.log.warning("{}; {}", refusal.message, becomes);
      if (!fresh && mine) mine = fail(refusal);
    }
  };
  look(*head_.node.local, catalog_.contents.unreadable);
  look(*head_.node.global, chain.unreadable);
  if (auto status = learn_unread(found); !status) return status;
  return agree(head_.heads, mine, "node");
}

Status Life::check_unreadable_again() {
  Unread found = Unread::none;
  for (const Unreadable& what : catalog_.contents.unreadable) {
    if (matters(what)) found = std::max(found, what.kind());
  }
  return learn_unread(found);
}

Status Life::learn_unread(Unread mine) {
  auto most = static_cast<std::uint64_t>(mine);
  if (auto status = head_.heads.allreduce({&most, 1}, Reduce::max); !status) return status;
  unread_ = std::max(unread_, static_cast<Unread>(most));
  return {};
}

}  // namespace cairn
