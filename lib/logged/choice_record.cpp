#include "logged/choice_record.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "replay/choices.hpp"
#include "replay/exchange.hpp"
#include "store/names.hpp"

namespace cairn::rollback {
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

void ChoiceRecord::open(Store& local, std::uint64_t stamp, const std::vector<Choices::Entry>& known) {
  auto file = local.share(names::choices(rank_), kBytes);
  if (!file || !*file) {
    if (!file) log_.debug("rank {}: no record of messages from any rank: {}", rank_.value, file.error().text());
    return;
  }
  journal_.choices().records_in((*file)->bytes(), stamp, known);
  file_ = std::move(*file);
}

void ChoiceRecord::remove(Store& local) {
  if (!file_) return;
  journal_.choices().ends();
  file_.reset();
  (void)local.remove_directory(names::choices());
}

Status ChoiceRecord::begin(Comm& ranks, Store& local) {
  ByteWriter mine;
  mine.put(static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()));
  const auto told = ranks.allgather(mine.bytes());
  if (!told) return fail(told.error());
  ByteReader first(told->front());
  const auto stamp = first.get<std::uint64_t>();
  journal_.has_stamp(stamp);
  open(local, stamp, {});
  return {};
}

Status ChoiceRecord::settle(Comm& ranks, Store& local, const replay::Agreement& agreement, std::uint64_t epoch) {
  const bool is_replaced = std::ranges::binary_search(agreement.replaced, rank_.value);
  std::map<std::uint32_t, Buffer> out;
  for (const std::uint32_t rank : agreement.replaced) {
    if (is_replaced) break;
    if (const auto found = read_record(local, Rank{rank}, agreement.stamp, epoch)) out[rank] = encode(*found);
  }
  const auto shipped = replay::exchange(ranks, out);
  if (!shipped) return fail(shipped.error());
  if (!is_replaced) return {};
  auto known = read_record(local, rank_, agreement.stamp, epoch);
  for (const auto& [from, bytes] : *shipped) {
    auto entries = replay::decode_choices(bytes);
    if (!entries) return fail(Code::invalid_argument, fmt::format("from rank {}: damaged choices", from));
    known = known ? replay::longer(std::move(*known), std::move(*entries)) : std::move(*entries);
  }
  open(local, agreement.stamp, known.value_or(std::vector<Choices::Entry>{}));
  if (!known) journal_.choices().knows_nothing();
  return {};
}

}  // namespace cairn::rollback
