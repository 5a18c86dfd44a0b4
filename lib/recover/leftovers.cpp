#include "recover/leftovers.hpp"

#include <algorithm>

#include "store/names.hpp"

namespace cairn {
namespace {

void warn(const Log& log, const Status& status) {
  if (!status) log.warning("{}", status.error().text());
}

}  // namespace

void remove_leftovers(Store& local, const StoreContents& contents, const Log& log) {
  remove_leftovers(local, log);
  // They are retired, not removed: the next copies and parity can reuse them.
  if (contents.has_brought) warn(log, local.remove_directory(names::brought()));
  for (const FileName& name : contents.unnamed) warn(log, local.retire(name, names::owner_head()));
}

void remove_recorded_calls(Store& local, std::span<const Rank> kept, const Log& log) {
  if (kept.empty()) return warn(log, local.remove_directory(names::calls()));
  const auto entries = local.list(names::calls());
  if (!entries) return log.warning("{}", entries.error().text());
  for (const Entry& entry : *entries) {
    const auto rank = names::parse_calls(entry.name);
    if (rank && std::ranges::find(kept, *rank) == kept.end()) warn(log, local.remove(names::calls(*rank)));
  }
}

void remove_files_of_ranks(Store& local, const StoreContents& contents, std::span<const Rank> kept, const Log& log) {
  for (const Rank rank : contents.with_files) {
    if (std::ranges::find(kept, rank) == kept.end()) warn(log, local.remove_directory(names::files(rank)));
  }
}

void remove_leftovers(Store& global, const Log& log) { warn(log, global.reclaim(Store::Writers::of_all_hosts)); }

}  // namespace cairn
