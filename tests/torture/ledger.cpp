#include "torture/ledger.hpp"

#include <utility>

#include <fmt/format.h>

#include "support/code_name.hpp"

namespace cairn::torture {

void Ledger::opens(std::uint32_t ranks) {
  const std::scoped_lock lock(mutex_);
  ranks_ = ranks;
}

void Ledger::tries(std::uint64_t stamp) {
  const std::scoped_lock lock(mutex_);
  model_.tries(stamp);
}

void Ledger::takes(std::uint32_t version, std::uint64_t stamp) {
  const std::scoped_lock lock(mutex_);
  has_snapshots_ = true;
  model_.takes(version, stamp);
}

void Ledger::pins(std::uint64_t stamp) {
  const std::scoped_lock lock(mutex_);
  model_.pins(stamp);
}

void Ledger::chooses(const Asked& asked) {
  const std::scoped_lock lock(mutex_);
  model_.chooses(asked);
}

void Ledger::rejects(std::uint32_t version, std::uint64_t stamp) {
  const std::scoped_lock lock(mutex_);
  model_.rejects(version, stamp);
}

void Ledger::has_rejected(std::uint64_t stamp) {
  const std::scoped_lock lock(mutex_);
  model_.has_rejected(stamp);
}

void Ledger::is_safe(std::uint32_t level, std::uint32_t version) {
  const std::scoped_lock lock(mutex_);
  model_.is_safe(level, version);
}

void Ledger::is_wrong(const std::string& what) {
  const std::scoped_lock lock(mutex_);
  if (wrong_.empty()) wrong_ = what;
}

std::string noted(ErrorKind kind, const std::string& text) { return fmt::format("{}: {}", test::name(kind), text); }
std::string noted(const Exception& error) { return noted(error.kind(), error.what()); }

void Ledger::restored(const Try& which, const Restored* seen, const std::string& error) {
  const std::scoped_lock lock(mutex_);
  if (restores_.size() <= which.number) restores_.resize(which.number + 1);
  Restore& restore = restores_[which.number];
  restore.asked = which.asked;
  if (seen != nullptr) restore.seen.push_back(*seen);
  if (!error.empty()) restore.error = error;
  if (++restore.ranks == which.ranks) judge(restore);
}

void Ledger::is_lost(std::optional<std::uint32_t> host, std::optional<std::uint32_t> version) {
  const std::scoped_lock lock(mutex_);
  if (version) {
    model_.version_is_hurt(host, *version);
  } else if (host) {
    model_.host_is_hurt(*host);
  } else {
    model_.global_is_hurt(true);
  }
}

void Ledger::end() {
  const std::scoped_lock lock(mutex_);
  for (Restore& restore : restores_) judge(restore);
}

void Ledger::finalizes() {
  const std::scoped_lock lock(mutex_);
  ++finalizing_;
}

void Ledger::has_finalized(Ending ending) {
  const std::scoped_lock lock(mutex_);
  ++endings_[static_cast<std::size_t>(ending)];
}

void Ledger::judge(Restore& restore) {
  if (std::exchange(restore.judged, true)) return;
  const std::string wrong = model_.judge(restore.seen, restore.error, restore.asked);
  if (wrong_.empty()) wrong_ = wrong;
}

}  // namespace cairn::torture
