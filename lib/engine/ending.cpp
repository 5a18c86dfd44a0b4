#include "engine/ending.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/list_text.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

struct Calls {
  std::uint32_t rank;
  std::uint32_t version;
  std::uint64_t calls;
};

// `all`: what ranks say of their calls, by node.
Error uneven_calls(const std::vector<Buffer>& all) {
  std::vector<Calls> said;
  for (const Buffer& bytes : all) {
    ByteReader in(bytes);
    while (in.good() && in.remaining() > 0) {
      Calls& calls = said.emplace_back();
      calls.rank = in.get<std::uint32_t>();
      calls.version = in.get<std::uint32_t>();
      calls.calls = in.get<std::uint64_t>();
    }
  }
  const std::uint32_t newest = std::ranges::max(said, {}, &Calls::version).version;
  std::vector<std::uint32_t> behind;
  for (const Calls& calls : said) {
    if (calls.version < newest) behind.push_back(calls.rank);
  }
  const Calls most = std::ranges::max(said, {}, &Calls::calls);
  const Calls least = std::ranges::min(said, {}, &Calls::calls);
  std::string text;
  if (!behind.empty()) text = fmt::format("{} did not call snapshot() for version {}; ", ranks_text(behind), newest);
  return {Code::invalid_argument,
          fmt::format("{}rank {} called snapshot() {} times, rank {} {} times", text, most.rank, most.calls, least.rank,
                      least.calls),
          "every application rank must make the same snapshot calls; snapshots after the first missing call may mix "
          "two safe points: correct the program, and do not restore them"};
}

}  // namespace

// What all ranks want, and whether they have made the same snapshot calls.
Status Ending::run() {
  // The highest of all nodes. A number that must be equal everywhere has its complement too, which gives the lowest.
  enum { kKeepGoing, kLeft, kUndefined, kNothingOwn, kVersion, kCalls = kVersion + 2, kWords = kCalls + 2 };
  std::array<std::uint64_t, kWords> words{};
  const auto raise = [&](std::size_t word, std::uint64_t value) { words.at(word) = std::max(words.at(word), value); };
  for (const auto& [rank, request] : head_.requests.finalize) {
    raise(kKeepGoing, request.keep_going ? 1 : 0);
    if (request.abandoned) raise(kLeft, to_word(head_.left_by(rank, request)));
    raise(kUndefined, request.undefined ? 1 : 0);
    raise(kVersion, request.version.value);
    raise(kVersion + 1, ~std::uint64_t{request.version.value});
    raise(kCalls, request.calls);
    raise(kCalls + 1, ~request.calls);
  }
  raise(kNothingOwn, has_nothing_of_its_own() ? 1 : 0);
  if (auto status = head_.heads.allreduce(words, Reduce::max); !status) return status;
  if (const auto left = left_of_word(words[kLeft])) {
    Error error = error_of(*left);
    error.code = Code::failed_elsewhere;  // the heads are all there
    return fail(error.in("the snapshots are kept"));
  }
  if (words[kVersion] != ~words[kVersion + 1] || words[kCalls] != ~words[kCalls + 1]) return compare_calls();
  if (words[kUndefined] != 0) return {};
  if (words[kNothingOwn] != 0) {
    if (head_.node.leads()) {
      head_.node.log.warning(
          "finalize() was called without restore() or snapshot(): the snapshots of earlier runs are kept");
    }
    return {};
  }
  if (const auto& old = catalog_.of_other_ranks) {
    if (head_.node.leads()) {
      head_.node.log.warning(
          "finalize() was called before a snapshot of this number of ranks: version {}, of another number, and its "
          "chain are kept",
          old->version.value);
    }
    return {};
  }
  if (catalog_.state && catalog_.rejected.contains(*catalog_.state)) {
    if (head_.node.leads()) {
      head_.node.log.warning(
          "finalize() was called after the newest version {} was rejected, and before another snapshot: older versions "
          "and their chain are kept",
          catalog_.state->version.value);
    }
    return {};
  }
  Status status = end_chain(words[kKeepGoing] != 0);
  if (status || status.error().code != Code::communication) life_.keep_costs_of_end();
  return status;
}

// Ranks have not made the same snapshot calls. Snapshots since the first call that one of them left out mix two safe
// points, and it is not known which snapshots those are.
Status Ending::compare_calls() {
  ByteWriter mine;
  for (const auto& [rank, request] : head_.requests.finalize) {
    mine.put(rank.value);
    mine.put(request.version.value);
    mine.put(request.calls);
  }
  const auto all = head_.heads.allgather(mine.bytes());
  if (!all) return fail(all.error());
  return fail(uneven_calls(*all).in("the snapshots are kept"));
}

// This life neither restored nor took a snapshot. So it must not end the chain that earlier lives have left.
bool Ending::has_nothing_of_its_own() const {
  if (!life_.is_undecided()) return false;
  if (head_.options.start == EngineOptions::Start::fresh || catalog_.chain.finished) return false;
  return !catalog_.known.empty() || life_.has_unreadable() || catalog_.chain.has_snapshots;
}

// Node stores hold the last copies beside L4, so all of L4 is read before they are emptied. A job that goes on keeps
// them, and may have little time left: it only looks whether its files at L4 are there.
Status Ending::end_chain(bool keep_going) {
  const bool finishes = !keep_going && head_.options.finished_at_end;
  const auto reads = finishes ? Level::Reads::everything : Level::Reads::outside_data;
  if (auto status = promoter_.raise_state(reads); !status) return status;
  if (!finishes) return {};
  // Snapshots of earlier lives are about to be removed: a restart must not look for them.
  if (life_.is_undecided()) {
    if (auto status = life_.record_parent(RunRecord::Parent::fresh, {}); !status) return status;
  }
  if (auto status = empty_node_store(); !status) {
    head_.node.log.warning(
        "node {}: the snapshots of the finished job could not be removed from {}; they are not needed any more: {}",
        head_.node.me.value, head_.node.local->where(), status.error().text());
  }
  if (auto status = head_.heads.barrier(); !status) return status;
  return life_.record_end();
}

// Removes what it can, and returns the first error. What stays keeps its chain mark, which tells whose it is.
Status Ending::empty_node_store() {
  Status first;
  const auto note = [&](const Status& status) {
    if (first && !status) first = status;
  };
  if (!catalog_.known.empty()) catalog_.retire_damaged(catalog_.known.rbegin()->second);
  for (const auto& [id, known] : catalog_.known) note(catalog_.retire(head_.node.dir(id)));
  catalog_.retire_orphans();
  if (first && catalog_.contents.unreadable.empty()) note(head_.node.local->remove(names::chain_mark()));
  note(head_.node.local->clean());
  return first;
}

}  // namespace cairn
