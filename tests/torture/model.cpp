#include "torture/model.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cairn::torture {
namespace {

constexpr std::uint32_t kGlobal = 4;

}  // namespace

void Model::begin_life(std::uint32_t nodes, std::uint32_t copies, std::uint32_t parity) {
  nodes_ = nodes;
  copies_ = copies;
  parity_ = parity;
}

void Model::node_is_hurt(std::uint32_t node) {
  for (Promise& promise : promises_) promise.hurt.insert(node);
}

void Model::global_is_hurt(bool lost) {
  for (Promise& promise : promises_) promise.global_hurt = true;
  // Its records, or one of them: that the chain was ended need not be known any more.
  must_be_fresh_ = false;
  if (lost) may_be_fresh_ = true;
  global_was_lost_ |= lost;
}

void Model::takes(std::uint32_t version, std::uint64_t stamp) { stamps_[version] = stamp; }

void Model::is_safe(std::uint32_t level, std::uint32_t version) {
  if (version == 0) return;
  std::erase_if(promises_, [&](const Promise& old) { return old.version == version && old.level == level; });
  const std::uint32_t survives = level == 2 ? copies_ : level == 3 ? parity_ : 0;
  promises_.push_back({version, level, nodes_, survives, {}, false});
  may_be_fresh_ = false;
  must_be_fresh_ = false;
}

void Model::finished(bool for_certain) {
  promises_.clear();
  may_be_fresh_ = true;
  must_be_fresh_ = for_certain;
}

bool Model::holds(const Promise& promise) const {
  if (promise.level == kGlobal) return !promise.global_hurt;
  std::set<std::uint32_t> away = promise.hurt;
  // Their stores are not opened in this life.
  for (std::uint32_t node = nodes_; node < promise.nodes; ++node) away.insert(node);
  std::erase_if(away, [&](std::uint32_t node) { return node >= promise.nodes; });
  return away.size() <= promise.survives;
}

// What came back is made redundant again as this life's configuration says, on its nodes.
void Model::move(Promise& promise) const {
  if (promise.level == 2) promise.survives = std::min(promise.survives, copies_);
  if (promise.level == 3) promise.survives = std::min(promise.survives, parity_);
  if (promise.level != kGlobal) promise.nodes = std::max(promise.nodes, nodes_);
}

std::uint32_t Model::promised() const {
  std::uint32_t newest = 0;
  for (const Promise& promise : promises_) {
    if (holds(promise)) newest = std::max(newest, promise.version);
  }
  return newest;
}

std::string Model::judge_one(const Restored& seen, Faults faults) const {
  if (seen.fresh) {
    if (promised() > 0) return fmt::format("a fresh start, although version {} was promised", promised());
    return may_be_fresh_ ? "" : "a fresh start, although snapshots were told to be safe";
  }
  if (must_be_fresh_) return fmt::format("version {} came back after the chain was ended", seen.version);
  if (!tried_.contains(seen.stamp)) return fmt::format("version {} is of a state that never was", seen.version);
  const auto taken = stamps_.find(seen.version);
  // Where all that knew the numbers is lost they begin again.
  if (!global_was_lost_ && taken != stamps_.end() && taken->second != seen.stamp) {
    return fmt::format("version {} was taken of state {}, and came back as {}", seen.version, taken->second,
                       seen.stamp);
  }
  if (faults != Faults::of_stores && seen.version < promised())
    return fmt::format("version {} came back, {} was promised", seen.version, promised());
  return {};
}

std::string Model::judge(const std::vector<Restored>& seen, const std::string& error, Faults faults) {
  for (const Restored& one : seen) {
    if (one.fresh != seen[0].fresh || one.version != seen[0].version || one.stamp != seen[0].stamp)
      return fmt::format("ranks went on from different states: version {} and {}", seen[0].version, one.version);
  }
  if (!seen.empty()) {
    if (auto wrong = judge_one(seen[0], faults); !wrong.empty()) return wrong;
    // What was newer is given up; of a fresh start, everything.
    const std::uint32_t newest = seen[0].fresh ? 0 : seen[0].version;
    std::erase_if(promises_, [&](const Promise& promise) { return promise.version > newest; });
    for (Promise& promise : promises_) move(promise);
  }
  if (error.empty() || faults != Faults::none) return {};
  // A chain that began when only some of the nodes were there to tell of the old one; the others' stores are refused.
  if (global_was_lost_ && error.find("has snapshots that belong to") != std::string::npos) return {};
  if (promised() > 0) return fmt::format("version {} was promised, but: {}", promised(), error);
  if (must_be_fresh_) return "the chain was ended, but the next start failed: " + error;
  return {};
}

}  // namespace cairn::torture
