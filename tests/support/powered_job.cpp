#include "support/powered_job.hpp"

#include <algorithm>
#include <mutex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/facts.hpp"

namespace cairn::test {
namespace {

constexpr std::size_t kState = 300;

void raise_to(std::atomic<std::uint32_t>& highest, std::uint32_t value) {
  std::uint32_t seen = highest;
  while (seen < value && !highest.compare_exchange_weak(seen, value)) {
  }
}

}  // namespace

void Told::is_tried(std::uint32_t step) { raise_to(tried, step); }

void Told::is_safe(LevelId level, std::uint32_t step) { raise_to(safe.at(static_cast<std::size_t>(level) - 1), step); }

PoweredJob::PoweredJob(std::vector<std::uint32_t> ranks, const std::string& settings)
    : job(std::move(ranks), settings) {
  job.log_level = "off";
  const auto wrap = [this](const std::string& kind, std::shared_ptr<Store> store,
                           const std::shared_ptr<ForgetfulDisk>& disk) -> std::shared_ptr<Store> {
    return std::make_shared<ForgetfulStore>(kind, std::move(store), disk, power, syncs);
  };
  job.wrap_node = [this, wrap](std::uint32_t node, std::shared_ptr<Store> store) {
    return wrap("node", std::move(store), nodes_.at(node));
  };
  job.wrap_global = [this, wrap](std::shared_ptr<Store> store) { return wrap("global", std::move(store), global_); };
  reload();
}

void PoweredJob::reload() {
  nodes_.clear();
  for (std::uint32_t node = 0; node < job.nodes(); ++node)
    nodes_.push_back(std::make_shared<ForgetfulDisk>(job.node_store(node)));
  global_ = std::make_shared<ForgetfulDisk>(job.global_store());
}

void PoweredJob::lose_power(std::uint64_t seed) {
  power->heal();
  for (std::uint32_t node = 0; node < nodes_.size(); ++node)
    nodes_[node]->lose_power(seed == 0 ? 0 : seed + 100 * node);
  global_->lose_power(seed);
}

void PoweredJob::lose(std::uint32_t node) {
  job.lose(node);
  reload();
}

void PoweredJob::lose_global_snapshots() {
  job.lose_global_snapshots();
  reload();
}

void PoweredJob::put_back(const Job::Image& image) {
  job.put_back(image);
  reload();
}

TellingSteps::TellingSteps(JobSession& session, Told& told) : session_(session), told_(told) {
  session_.protect("state", state_);
  session_.protect("step", step_);
}

bool TellingSteps::restore() {
  if (!session_.restore().restored) return step_ == 0;
  return state_ == sample_state(session_.rank(), step_, kState);
}

void TellingSteps::advance() {
  told_.is_tried(step_ + 1);
  state_ = sample_state(session_.rank(), ++step_, kState);
  if (const auto version = session_.snapshot()) steps_[*version] = step_;
}

void TellingSteps::wait() {
  for (const LevelId level : kEveryLevel) {
    session_.wait(level);
    const auto step = steps_.find(session_.safe_version(level));
    if (step != steps_.end()) told_.is_safe(level, step->second);
  }
}

void TellingSteps::finalize(bool ends_chain) {
  told_.ending = ends_chain;
  session_.finalize();
  if (ends_chain) ++told_.ended;
}

Left reopen(Job& job, std::uint32_t goes_on) {
  Left left;
  std::mutex mutex;
  Told unheard;
  const auto look = [&](JobSession& session) {
    TellingSteps steps(session, unheard);
    const bool right = steps.restore();
    {
      const std::scoped_lock lock(mutex);
      left.steps.insert(steps.step());
      left.wrong |= !right;
    }
    for (std::uint32_t i = 0; i < goes_on; ++i) steps.advance();
    steps.wait();
  };
  if (goes_on == 0) {
    job.run_and_die(look);
    // Heads whose job dies say so, too.
    if (left.steps.empty() && job.open_error()) left.error = job.open_error()->text;
    if (!job.errors().empty()) left.error += job.errors().begin()->second.text;
  } else {
    for (const Failure& failure : thrown_by([&] { job.run(look); })) left.error += failure.text;
  }
  return left;
}

std::string broken(const Told& told, const Left& left, LevelId level) {
  std::uint32_t promised = 0;
  for (const LevelId one : kEveryLevel) {
    if (one >= level) promised = std::max(promised, told.newest(one));
  }
  const std::string seen = fmt::format("went on from {}; {}", left.steps, left.error);
  if (left.wrong) return "other bytes came back: " + seen;
  if (left.steps.size() > 1) return "ranks went on from different versions: " + seen;
  const bool fresh = left.steps == std::set<std::uint32_t>{0};
  if (told.ended > 0) return fresh && left.error.empty() ? "" : "the chain was finished: " + seen;
  if (told.ending && fresh && left.error.empty()) return "";  // it may have been
  const bool anything = std::ranges::any_of(kEveryLevel, [&](LevelId one) { return told.newest(one) > 0; });
  if (fresh && anything) return "started fresh, and there were snapshots: " + seen;
  if (!left.steps.empty() && *left.steps.begin() > told.tried) return "that was never taken: " + seen;
  if (promised == 0) return "";  // it may be beyond help, and says so
  if (left.steps.empty() || !left.error.empty()) return fmt::format("version {} is lost: {}", promised, seen);
  if (*left.steps.begin() < promised) return fmt::format("version {} is lost: {}", promised, seen);
  return "";
}

}  // namespace cairn::test
