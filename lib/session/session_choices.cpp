// The record of what receives and probes have got that name no sender, or no tag, after restore(): a file in the node's
// own store, which outlives its process. A replacement reads that of the dead rank, or gets it from a survivor on the
// dead rank's node.
#include <chrono>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "replay/choices.hpp"
#include "replay/exchange.hpp"
#include "session/session_impl.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

using replay::Choices;

constexpr std::uint64_t kBytes = 2 * kMiB;

// Nothing: this node's store has none of these ranks, or it is of another run.
std::optional<std::vector<Choices::Entry>> read_record(const Store& store, Rank rank, std::uint64_t stamp,
                                                       std::uint64_t epoch) {
  const auto reader = store.open(names::choices(rank));
  if (!reader) return {};
  Buffer bytes((*reader)->size_bytes());
  if (!(*reader)->read(0, bytes)) return {};
  return replay::read_choices(bytes, stamp, epoch);
}

}  // namespace

void SessionImpl::open_choices(std::uint64_t stamp, const std::vector<Choices::Entry>& known) {
  Application& app = application_;
  auto file = local_store()->share(names::choices(app.rank), kBytes);
  if (!file || !*file) {
    if (!file)
      setting_.log.debug("rank {}: no record of messages from any rank: {}", app.rank.value, file.error().text());
    return;
  }
  app.journal->choices().records_in((*file)->bytes(), stamp, known);
  app.choices = std::move(*file);
}

// All ranks have finished: records of ranks that were replaced on another node go, too.
void SessionImpl::remove_choices() {
  Application& app = application_;
  if (!app.choices) return;
  app.journal->choices().ends();
  app.choices.reset();
  (void)local_store()->remove_directory(names::choices());
}

// All ranks have restored together.
Status SessionImpl::record_choices() {
  Application& app = application_;
  ByteWriter mine;
  mine.put(static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()));
  const auto told = ranks().allgather(mine.bytes());
  if (!told) return fail(told.error());
  ByteReader first(told->front());
  const auto stamp = first.get<std::uint64_t>();
  app.journal->has_stamp(stamp);
  open_choices(stamp, {});
  return {};
}

Status SessionImpl::settle_choices(const replay::Agreement& agreement, std::uint64_t epoch) {
  Application& app = application_;
  std::map<std::uint32_t, Buffer> out;
  for (const std::uint32_t rank : agreement.replaced) {
    if (app.replaces) break;
    if (const auto found = read_record(*local_store(), Rank{rank}, agreement.stamp, epoch)) out[rank] = encode(*found);
  }
  const auto shipped = replay::exchange(ranks(), out);
  if (!shipped) return fail(shipped.error());
  if (!app.replaces) return {};
  auto known = read_record(*local_store(), app.rank, agreement.stamp, epoch);
  for (const auto& [from, bytes] : *shipped) {
    auto entries = replay::decode_choices(bytes);
    if (!entries) return fail(Code::invalid_argument, fmt::format("from rank {}: damaged choices", from));
    known = known ? replay::longer(std::move(*known), std::move(*entries)) : std::move(*entries);
  }
  open_choices(agreement.stamp, known.value_or(std::vector<Choices::Entry>{}));
  if (!known) app.journal->choices().knows_nothing();
  return {};
}

}  // namespace cairn
