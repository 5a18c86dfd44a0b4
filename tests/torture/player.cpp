#include "torture/player.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "support/job.hpp"
#include "torture/application.hpp"
#include "torture/faults.hpp"
#include "torture/mishaps.hpp"
#include "torture/model.hpp"

namespace cairn::torture {
namespace {

using test::Job;
using test::JobSession;
using Faults = Circumstances::Faults;

constexpr std::uint64_t kStampsOfALife = 1000;

// Each look at it takes a moment, and jumps take longer than any wait limit and any interval.
class JumpingClock {
 public:
  JumpingClock(const Clock& clock, std::size_t world) : clock_(clock), looks_(world) {}
  std::chrono::microseconds operator()(std::uint32_t world_rank) {
    const std::uint64_t look = looks_.at(world_rank)++;
    const auto jumps =
        world_rank != clock_.rank ? 0 : std::distance(clock_.jumps.begin(), clock_.jumps.lower_bound(look));
    return std::chrono::microseconds(look) + std::chrono::hours(1) * jumps;
  }

 private:
  Clock clock_;
  std::vector<std::atomic<std::uint64_t>> looks_;  // by world rank
};

const char* restart_mode(Life::Start start) {
  if (start == Life::Start::fresh) return "mode = fresh\n";
  return start == Life::Start::required ? "mode = required\n" : "";
}

class Player {
 public:
  explicit Player(const Scenario& scenario) : scenario_(scenario), job_({1}, "") {
    job_.log_level = std::getenv("TORTURE_LOG") ? "info" : "off";
  }

  std::string play() {
    for (std::size_t i = 0; i < scenario_.lives.size(); ++i) {
      const std::string wrong = live(scenario_.lives[i], kStampsOfALife * i + 1);
      if (!wrong.empty()) return fmt::format("life {}: {}", i, wrong);
      before_ = &scenario_.lives[i];
    }
    return {};
  }

 private:
  std::string live(const Life& life, std::uint64_t first_stamp) {
    prepare(life);
    const Circumstances circumstances = circumstances_of(life, first_stamp);
    model_.begin_life(circumstances);
    const std::vector<Injected> injected = inject(life, job_);
    Ledger ledger(model_);
    std::atomic<std::uint32_t> size{0};
    job_.run_and_die([&](JobSession& session) {
      size = session.size();
      Application(session, life, first_stamp, circumstances.faults == Faults::none, ledger).run();
    });
    ledger.end();
    std::string wrong = ledger.wrong();
    tell(injected, model_);
    if (wrong.empty()) wrong = mishaps_.end_of_newer(ledger.has_snapshots(), life.start == Life::Start::fresh);
    // No rank got as far as restore().
    if (wrong.empty() && size == 0) wrong = model_.judge({}, job_.open_error());
    if (wrong.empty() && !job_.errors().empty())
      wrong = "an exception of another kind: " + job_.errors().begin()->second;
    return wrong.empty() ? conclude(life, circumstances, size, ledger) : wrong;
  }

  void prepare(const Life& life) {
    const bool same = before_ != nullptr && before_->nodes == life.nodes && before_->hosts == life.hosts;
    job_.reshape(life.nodes, life.hosts);
    job_.configure(life.settings + restart_mode(life.start));
    for (const Mishap& mishap : life.before) mishaps_.happen(mishap);
    job_.same_processes =
        life.survivors && same && before_->end == Life::End::die && !before_->strangers && !mishaps_.newer();
    job_.failures = {};
    for (const std::uint32_t host : mishaps_.take_lost()) {
      if (life.told && before_ != nullptr) note_lost(host);
    }
    job_.clock = {};
    if (!life.clock) return;
    const std::size_t world = std::accumulate(life.nodes.begin(), life.nodes.end(), std::size_t{0});
    job_.clock = [clock = std::make_shared<JumpingClock>(*life.clock, world)](std::uint32_t rank) {
      return (*clock)(rank);
    };
  }

  // Nodes are numbered as in the life before.
  void note_lost(std::uint32_t host) {
    const auto node = std::ranges::find(before_->hosts, host);
    if (node == before_->hosts.end()) return;
    job_.failures.lost_nodes.push_back(static_cast<std::uint32_t>(node - before_->hosts.begin()));
  }

  [[nodiscard]] Circumstances circumstances_of(const Life& life, std::uint64_t first_stamp) const {
    Circumstances it;
    it.hosts = {life.hosts.begin(), life.hosts.end()};
    it.copies = life.copies;
    it.parity = life.parity;
    it.first_stamp = first_stamp;
    it.faults = effect_of(life);
    it.anew = life.start == Life::Start::fresh || life.start == Life::Start::unasked;
    it.required = life.start == Life::Start::required;
    it.newer = mishaps_.newer();
    it.strangers = life.strangers;
    return it;
  }

  // Whether the chain has ended, must have, or must not.
  std::string conclude(const Life& life, const Circumstances& circumstances, std::uint32_t size, const Ledger& ledger) {
    using Ending = Ledger::Ending;
    const std::uint32_t well = ledger.endings(Ending::well);
    const std::uint32_t failed = ledger.endings(Ending::failed);
    const bool nothing_failed = circumstances.faults == Faults::none;
    if (nothing_failed && well > 0 && failed > 0)
      return fmt::format("finalize() went well on {} ranks, and failed on {}", well, failed);
    if (!life.finishes || well + failed == 0) return {};
    const bool one_dropped = life.end == Life::End::one_drops && size > 1;
    const bool not_ended = one_dropped || (nothing_failed && (well == 0 || ledger.endings(Ending::of_nothing) > 0));
    // A life of no snapshots that began anew has nothing to end, but an old chain, or not.
    if (!not_ended) model_.finished(well == size && nothing_failed && !circumstances.anew);
    return {};
  }

  const Scenario& scenario_;
  Job job_;
  Model model_;
  Mishaps mishaps_{job_, model_};
  const Life* before_ = nullptr;
};

}  // namespace

std::string play(const Scenario& scenario) { return Player(scenario).play(); }

}  // namespace cairn::torture
