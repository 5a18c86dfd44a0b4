#include "engine/store_watch.hpp"

#include <algorithm>
#include <utility>

#include "base/plain_text.hpp"
#include "localize/evidence.hpp"

namespace cairn {
namespace {

constexpr std::chrono::seconds kRoomEvery{5};  // lists the pool of files that are used again
constexpr std::chrono::seconds kSmallAgain{10};

double part_of(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

}  // namespace

StoreWatch::StoreWatch(std::shared_ptr<const StoreCounts> counts, std::shared_ptr<const Store> store)
    : counts_(std::move(counts)), store_(std::move(store)), seen_(operations()) {}

void StoreWatch::note_write(const Seal& seal) {
  ++written_.all;
  if (seal.error && seal.error->code == Code::io) ++written_.failed;
  if (seal.error && seal.error->code == Code::no_space) ++written_.refused;
  if (seal.error && (seal.error->code == Code::io || seal.error->code == Code::no_space))
    write_error_ = seal.error->message;
  if (seal.version != version_) version_ = seal.version, bytes_ = 0;
  bytes_ += seal.bytes;
  wanted_ = std::max(wanted_, bytes_);
}

StoreWatch::Operations StoreWatch::operations() const {
  return {counts_->operations() + written_.all, counts_->failed() + written_.failed,
          counts_->refused() + written_.refused};
}

void StoreWatch::Trouble::note(Time now, const Operations& before_now) {
  if (!since) since = now, before = before_now;
  last = now;
}

void StoreWatch::Trouble::forget(Time now) {
  if (since && now - last >= kRecovers) since.reset();
}

std::vector<StoreWatch::Found> StoreWatch::look(Time now) {
  const Operations all = operations();
  std::vector<Found> found;
  std::string error = std::exchange(write_error_, {});
  if (error.empty()) error = counts_->last_error();
  const auto add = [&](SymptomKind kind, std::uint64_t failed, double measure) {
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(failed, localize::kMostRepeats); ++i)
      found.push_back({kind, measure, plain_text(error, kMostNoteBytes)});
  };
  const std::uint64_t failed = all.failed - seen_.failed;
  const std::uint64_t refused = all.refused - seen_.refused;
  if (failed > 0) failing_.note(now, seen_);
  if (refused > 0) refusing_.note(now, seen_);
  add(SymptomKind::store_error, failed, part_of(failed, all.all - seen_.all));
  add(SymptomKind::store_full, refused, 1);
  seen_ = all;
  failing_.forget(now);
  refusing_.forget(now);
  look_at_room(now, found);
  return found;
}

void StoreWatch::look_at_room(Time now, std::vector<Found>& found) {
  if (now < next_room_) return;
  next_room_ = now + kRoomEvery;
  const auto free = store_->free_bytes();
  free_ = free ? std::optional(*free) : std::nullopt;
  const bool small = free_ && *free_ < wanted_;
  if (!small) small_since_.reset();
  if (small && !small_since_) small_since_ = now;
  if (!small || now - *small_since_ < kFullFor || now < next_small_report_) return;
  next_small_report_ = now + kSmallAgain;
  found.push_back({SymptomKind::store_full, 1});
}

void StoreWatch::fill(localize::NodeState& state, Time now) const {
  const Operations all = operations();
  if (free_) state.store_free = static_cast<double>(*free_);
  // What does not fit for a moment is not in the way of the next snapshot.
  const bool full = small_since_ && now - *small_since_ >= kFullFor;
  if (free_ && wanted_ > 0)
    state.store_room = full ? part_of(*free_, wanted_) : std::max(1.0, part_of(*free_, wanted_));
  if (refusing_.since) {
    state.store_refused = static_cast<double>(all.refused - refusing_.before.refused);
    if (const auto free = counts_->free_when_refused()) state.store_free = static_cast<double>(*free);
  }
  if (!failing_.since) return;
  const std::uint64_t operations = all.all - failing_.before.all;
  const std::uint64_t failed = all.failed - failing_.before.failed;
  state.store_operations = static_cast<double>(operations);
  state.store_failed = static_cast<double>(failed);
  state.store_errors = part_of(failed, operations);
  state.store_since = std::chrono::duration<double>(now - *failing_.since).count();
}

}  // namespace cairn
