#include "torture/player.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "torture/mishaps.hpp"

namespace cairn::torture {
namespace {

using Faults = Circumstances::Faults;

class Player {
 public:
  Player(const Scenario& scenario, Cluster& cluster) : scenario_(scenario), cluster_(cluster) {}

  std::string play() {
    for (std::size_t i = 0; i < scenario_.lives.size(); ++i) {
      const std::string wrong = live(i);
      if (!wrong.empty()) return fmt::format("life {}: {}", i, wrong);
    }
    return {};
  }

 private:
  std::string live(std::size_t number) {
    const Life& life = scenario_.lives[number];
    for (const Mishap& mishap : life.before) mishaps_.happen(mishap);
    const Turn turn{life,
                    number == 0 ? nullptr : &scenario_.lives[number - 1],
                    mishaps_.take_lost(),
                    mishaps_.others(),
                    number,
                    first_stamp_of(number)};
    const Circumstances circumstances = circumstances_of(turn);
    model_.begin_life(circumstances);
    Ledger ledger(model_);
    const Lived lived = cluster_.live(turn, ledger, model_);
    ledger.end();
    std::string wrong = ledger.wrong();
    if (wrong.empty())
      wrong = mishaps_.end_of_others(circumstances, life.start == Life::Start::fresh, ledger.has_snapshots());
    // No rank got as far as restore().
    if (wrong.empty() && lived.ranks == 0) wrong = model_.judge({}, lived.open_error);
    if (wrong.empty()) wrong = lived.wrong;
    return wrong.empty() ? conclude(life, circumstances, lived.ranks, ledger) : wrong;
  }

  [[nodiscard]] Circumstances circumstances_of(const Turn& turn) const {
    const Life& life = turn.life;
    Circumstances it;
    it.hosts = {life.hosts.begin(), life.hosts.end()};
    it.copies = life.copies;
    it.parity = life.parity;
    it.keep_local = life.keep_local;
    it.keep_global = life.keep_global;
    it.first_stamp = turn.first_stamp;
    it.faults = cluster_.effect_of(life);
    it.anew = life.start == Life::Start::fresh || life.start == Life::Start::unasked;
    it.required = life.start == Life::Start::required;
    it.others = turn.others;
    it.strangers = life.strangers;
    return it;
  }

  // Whether the chain has ended, must have, or must not.
  std::string conclude(const Life& life, const Circumstances& circumstances, std::uint32_t ranks,
                       const Ledger& ledger) {
    const std::uint32_t well = ledger.endings(Ending::well);
    const std::uint32_t failed = ledger.endings(Ending::failed);
    const bool nothing_failed = circumstances.faults == Faults::none;
    if (nothing_failed && well > 0 && failed > 0)
      return fmt::format("finalize() went well on {} ranks, and failed on {}", well, failed);
    if (nothing_failed && well > 0 && well == ranks) {
      const std::string left = left_behind(life);
      if (!left.empty()) return left;
    }
    if (!life.finishes || well + failed == 0) return {};
    const bool one_dropped = life.end == Life::End::one_drops && ranks > 1;
    const bool not_ended = one_dropped || (nothing_failed && (well == 0 || ledger.endings(Ending::of_nothing) > 0));
    // A life of no snapshots that began anew has nothing to end, but an old chain, or not.
    if (!not_ended) model_.finished(well == ranks && nothing_failed && !circumstances.anew);
    return {};
  }

  // What a life that ended well has left in its stores beyond what is kept of each local level, and a few that were
  // under way. Where it took no snapshot itself, what the lives before it left so is still there.
  [[nodiscard]] std::string left_behind(const Life& life) const {
    constexpr std::uint32_t kLocalLevels = 3;
    constexpr std::uint32_t kUnderWay = 4;
    std::vector<Place> places(life.hosts.begin(), life.hosts.end());
    places.emplace_back();
    for (const Place& place : places) {
      std::set<std::string> snapshots;
      for (const auto& [name, bytes] : cluster_.image(place)) {
        if (name.find('/') != std::string::npos) snapshots.insert(name.substr(0, name.find('/')));
        if (name.find(".part") != std::string::npos) return name + " was left behind";
      }
      const std::uint32_t most =
          (place ? kLocalLevels * most_kept(&Life::keep_local) : most_kept(&Life::keep_global)) + kUnderWay;
      if (snapshots.size() <= most) continue;
      return fmt::format("{} snapshots were left in {}: {}", snapshots.size(),
                         place ? fmt::format("host {}", *place) : "the global store", fmt::join(snapshots, " "));
    }
    return {};
  }

  [[nodiscard]] std::uint32_t most_kept(std::uint32_t Life::*keep) const {
    return (*std::ranges::max_element(scenario_.lives, {}, keep)).*keep;
  }

  const Scenario& scenario_;
  Cluster& cluster_;
  Model model_;
  Mishaps mishaps_{cluster_, model_};
};

}  // namespace

std::string play(const Scenario& scenario, Cluster& cluster) { return Player(scenario, cluster).play(); }

}  // namespace cairn::torture
