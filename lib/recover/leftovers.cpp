#include "recover/leftovers.hpp"

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
  for (const FileName& name : contents.unnamed) warn(log, local.retire(name, names::owner_head()));
}

void remove_recorded_calls(Store& local, const Log& log) { warn(log, local.remove_directory(names::calls())); }

void remove_leftovers(Store& global, const Log& log) { warn(log, global.reclaim(Store::Writers::of_all_hosts)); }

}  // namespace cairn
