#include "torture/player.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "store/names.hpp"
#include "torture/faults.hpp"
#include "torture/mishaps.hpp"
#include "torture/records.hpp"

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
    wrong_.clear();
    opened_ = took_snapshots_ = ended_well_ = false;
    ended_before_ = records_of_an_end(cluster_.image(std::nullopt));
    const auto begin = [&](const Attempt& attempt) -> Ledger& {
      settle();
      conclude(life);
      circumstances_ = circumstances_of(turn, attempt);
      is_first_ = attempt.number == 0;
      all_is_read_ = is_first_ && attempt.all_is_read;
      model_.begin_life(circumstances_);
      ledger_ = std::make_unique<Ledger>(model_);
      return *ledger_;
    };
    const Lived lived = cluster_.live(turn, begin, model_);
    settle();
    if (wrong_.empty())
      wrong_ = mishaps_.end_of_others(circumstances_, life.start == Life::Start::fresh, took_snapshots_);
    // No rank got as far as restore().
    if (wrong_.empty() && !opened_ && circumstances_.shaky.empty()) wrong_ = model_.judge({}, lived.open_error);
    if (wrong_.empty()) wrong_ = lived.wrong;
    conclude(life);
    if (wrong_.empty() && ended_well_) wrong_ = left_behind(life);
    return wrong_;
  }

  // Of an attempt all is noted.
  void settle() {
    if (ledger_ == nullptr) return;
    ledger_->end();
    opened_ |= ledger_->ranks() > 0;
    took_snapshots_ |= ledger_->has_snapshots();
    if (wrong_.empty()) wrong_ = ledger_->wrong();
  }

  [[nodiscard]] Circumstances circumstances_of(const Turn& turn, const Attempt& attempt) const {
    const Life& life = turn.life;
    Circumstances it;
    it.hosts = {life.hosts.begin(), life.hosts.end()};
    const auto is_on = [&](const char* level) { return life.settings.find(level) == std::string::npos; };
    it.copies = is_on("\nl2 = off\n") ? life.copies : 0;
    it.parity = is_on("\nl3 = off\n") ? life.parity : 0;
    it.keep_local = life.keep_local;
    it.keep_global = life.keep_global;
    it.first_stamp = turn.first_stamp + attempt.number * kStampsOfAnAttempt;
    it.faults = attempt.faults;
    it.shaky = attempt.shaky;
    it.anew = (life.start == Life::Start::fresh && !attempt.goes_on) || life.start == Life::Start::unasked;
    it.required = life.start == Life::Start::required;
    it.others = turn.others;
    it.strangers = life.strangers;
    return it;
  }

  // Whether the chain has ended, must have, or must not.
  void conclude(const Life& life) {
    const std::unique_ptr<Ledger> ledger = std::move(ledger_);
    if (ledger == nullptr || !wrong_.empty()) return;
    const std::uint32_t well = ledger->endings(Ending::well);
    const std::uint32_t failed = ledger->endings(Ending::failed);
    const bool nothing_failed = circumstances_.faults == Faults::none;
    if (nothing_failed && well > 0 && failed > 0)
      wrong_ = fmt::format("finalize() went well on {} ranks, and failed on {}", well, failed);
    ended_well_ = nothing_failed && well > 0 && well == ledger->ranks();
    if (!life.finishes || !ledger->may_have_ended()) return;
    const bool one_dropped = is_first_ && life.end == Life::End::one_drops && ledger->ranks() > 1;
    const bool not_ended = one_dropped || (nothing_failed && (well == 0 || ledger->endings(Ending::of_nothing) > 0));
    if (not_ended) return;
    // A life of no snapshots that began anew has nothing to end, but an old chain, or not.
    const bool for_certain =
        well == ledger->ranks() && nothing_failed && !circumstances_.anew && !model_.may_keep_the_old();
    if (model_.keeps_the_old()) {
      if (has_recorded_an_end())
        wrong_ = "the chain has ended, and its snapshot of another number of ranks was not replaced";
      return;
    }
    if (!has_recorded_an_end()) {
      if (for_certain) wrong_ = "finalize() went well, and no record says that the chain has ended";
      return model_.ends_badly();
    }
    if (all_is_read_) wrong_ = not_emptied(life);
    model_.finished(for_certain);
  }

  // Of a job that came again in this life one end is like another.
  [[nodiscard]] bool has_recorded_an_end() const {
    return !std::ranges::includes(ended_before_, records_of_an_end(cluster_.image(std::nullopt)));
  }

  // A chain is recorded as ended when no node store has anything of it any more, but where one refuses to be emptied.
  // Until then a finalize that fails, or is killed, leaves what the next life goes on from.
  [[nodiscard]] std::string not_emptied(const Life& life) const {
    for (const std::uint32_t host : life.hosts) {
      if (may_refuse_removal(life, host)) continue;
      for (const auto& [path, bytes] : cluster_.image(host)) {
        const auto dir = names::parse_snapshot(path.substr(0, path.find('/')));
        if (dir && path.ends_with("/manifest.json") && model_.is_of_this_life(dir->version.value))
          return fmt::format("the chain is recorded as ended, and host {} still has version {}", host,
                             dir->version.value);
      }
    }
    return {};
  }

  // What a life that ended well has left in its stores beyond what is kept of each local level, and a few that were
  // under way. Where it took no snapshot itself, what the lives before it left is still there.
  [[nodiscard]] std::string left_behind(const Life& life) const {
    constexpr std::uint32_t kLocalLevels = 3;
    constexpr std::uint32_t kUnderWay = 4;
    std::vector<Place> places(life.hosts.begin(), life.hosts.end());
    places.emplace_back();
    for (const Place& place : places) {
      std::set<std::string> snapshots;
      const test::StoreImage image = cluster_.image(place);
      for (const auto& [name, bytes] : image) {
        if (name.find('/') != std::string::npos) snapshots.insert(name.substr(0, name.find('/')));
        // What a life that only a newer Cairn can read was writing is not ours to remove; and a life that asked for
        // nothing and took no snapshot has not begun, and touches nothing.
        const bool begun = took_snapshots_ || life.start != Life::Start::unasked;
        if (name.find(".part") != std::string::npos && !circumstances_.others && begun)
          return name + " was left behind";
      }
      const auto is_begun = [&](const std::string& dir) { return !image.contains(dir + "/manifest.json"); };
      const auto begun = std::ranges::find_if(snapshots, is_begun);
      // Where the program asked for nothing, and took no snapshot that was due, there was nothing to end. The chain of
      // a snapshot of other ranks, which nothing has replaced, is kept.
      const bool ended = life.finishes && life.start != Life::Start::unasked && !model_.may_keep_the_old();
      if (ended && place && begun != snapshots.end())
        return fmt::format("{}, which was never completed, was left on host {}", *begun, *place);
      const std::uint32_t most =
          (place ? kLocalLevels * most_kept(&Life::keep_local) : most_kept(&Life::keep_global)) + kUnderWay;
      if (snapshots.size() <= most || !took_snapshots_ || std::ranges::any_of(scenario_.lives, picks)) continue;
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
  // Of the life that is played, and of its attempt.
  std::string wrong_;
  bool ended_well_ = false;  // the last attempt, on all ranks, and nothing had failed
  bool opened_ = false;
  bool took_snapshots_ = false;
  bool is_first_ = true;
  bool all_is_read_ = false;
  std::set<std::string> ended_before_;  // records of lives that had ended a chain when it began
  Circumstances circumstances_;
  std::unique_ptr<Ledger> ledger_;
};

}  // namespace

std::string play(const Scenario& scenario, Cluster& cluster) { return Player(scenario, cluster).play(); }

}  // namespace cairn::torture
