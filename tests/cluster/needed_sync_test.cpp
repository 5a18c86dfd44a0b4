// Every sync of the product is needed: with any one of them taken out, a power cut takes something that was promised.
// Which one shows it is written here, so that a sync that is added must be found needed, too.
#include <cstdint>
#include <functional>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/job_costs.hpp"
#include "format/manifest.hpp"
#include "store/names.hpp"
#include "support/powered_job.hpp"

namespace cairn::test {
namespace {

constexpr const char* kLocal = "[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = off\n";
constexpr const char* kPartner = "[levels]\nl1 = every 1\nl2 = every 1\nl3 = off\nl4 = off\n";
constexpr const char* kErasure =
    "[levels]\nl1 = every 1\nl2 = off\nl3 = every 1\nl4 = off\n[erasure]\ngroup = 3\nparity = 1\n";
constexpr const char* kGlobal = "[levels]\nl1 = every 1\nl2 = every 1\nl3 = off\nl4 = every 1\n";
constexpr const char* kAuto = "[levels]\nl1 = every 1\nl2 = auto\nl3 = off\nl4 = off\n";
const std::string kContinue = "[restart]\nat_end = continue\n";
constexpr std::uint64_t kSeeds = 4;

void take_steps(PoweredJob& cut, Told& told) {
  cut.job.run_well_and_die([&](JobSession& session) {
    TellingSteps steps(session, told);
    EXPECT_TRUE(steps.restore());
    for (int i = 0; i < 2; ++i) steps.advance();
    steps.wait();
  });
}

void lose_all(PoweredJob& cut) {
  for (std::uint32_t node = 0; node < cut.job.nodes(); ++node) cut.lose(node);
}

// What is to be read in every store by others than a restore: whose it is, what snapshots cost, HDF5 as a whole.
std::string unreadable_in(PoweredJob& cut) {
  const auto text_of_file = [](Store& store, const FileName& name) { return read_text(store, name).value_or(""); };
  for (std::uint32_t node = 0; node < cut.job.nodes(); ++node) {
    if (!parse_chain_mark(text_of_file(cut.job.node_store(node), names::chain_mark()))) return "a node's chain mark";
  }
  MemoryStore& global = cut.job.global_store();
  if (!parse_chain_mark(text_of_file(global, names::chain_mark()))) return "the global chain mark";
  const auto entries = global.list({});
  if (!entries) return entries.error().text();
  for (const Entry& entry : *entries) {
    if (entry.name == names::costs().path && !parse_job_costs(text_of_file(global, names::costs()))) return entry.name;
    const DirName dir{entry.name};
    const auto manifest = read_global_manifest(global, dir, {});
    if (manifest && !check_file(global, names::master_file(dir), *manifest->master)) return entry.name + "'s master";
  }
  return "";
}

// Cuts the power, then loses what `lose` says, and looks at what comes back.
std::string broken_by(PoweredJob& cut, const Told& told, std::uint64_t seed, LevelId level,
                      const std::function<void(PoweredJob&)>& lose) {
  cut.lose_power(seed);
  const std::string unreadable = told.ended > 0 ? "" : unreadable_in(cut);
  if (!unreadable.empty()) return "cannot be read: " + unreadable;
  lose(cut);
  return broken(told, reopen(cut.job, 0), level);
}

// A life that takes steps, a cut, and losses.
std::string taken(PoweredJob& cut, std::uint64_t seed, const std::function<void(PoweredJob&)>& lose, LevelId survives) {
  Told told;
  take_steps(cut, told);
  return broken_by(cut, told, seed, survives, lose);
}

// A life that restores what was lost before, and makes it as safe as it was.
std::string restored(PoweredJob& cut, std::uint64_t seed, const std::function<void(PoweredJob&)>& lose_before,
                     const std::function<void(PoweredJob&)>& lose_after) {
  Told told;
  take_steps(cut, told);
  lose_before(cut);
  cut.job.run_well_and_die([&](JobSession& session) {
    TellingSteps steps(session, told);
    EXPECT_TRUE(steps.restore());
    steps.finalize(false);
  });
  return broken_by(cut, told, seed, LevelId::partner, lose_after);
}

std::string ended(PoweredJob& cut, std::uint64_t seed) {
  Told told;
  cut.job.run_well_and_die([&](JobSession& session) {
    TellingSteps steps(session, told);
    EXPECT_TRUE(steps.restore());
    steps.advance();
    steps.finalize(true);
  });
  return broken_by(cut, told, seed, LevelId::local, [](PoweredJob&) {});
}

// A life that starts fresh beside snapshots that more nodes than its own hold; then a node is lost.
std::string began_fresh(PoweredJob& cut, std::uint64_t seed) {
  Told before;
  for (int life = 0; life < 2; ++life) take_steps(cut, before);
  cut.put_back(cut.job.image());  // all of that is durable
  cut.job.configure(kLocal + kContinue + "mode = fresh\n");
  Told told;
  take_steps(cut, told);
  cut.job.configure(kLocal + kContinue);
  return broken_by(cut, told, seed, LevelId::partner, [](PoweredJob& left) { left.lose(1); });
}

struct Scenario {
  std::string name;
  std::string settings;
  // What was broken.
  std::function<std::string(PoweredJob& cut, std::uint64_t seed)> play;
  std::vector<std::string> shows;  // syncs that it shows to be needed
};
void PrintTo(const Scenario& scenario, std::ostream* out) { *out << scenario.name; }

std::vector<Scenario> scenarios() {
  const auto nothing = [](PoweredJob&) {};
  const auto node = [](std::uint32_t which) { return [which](PoweredJob& cut) { cut.lose(which); }; };
  // The end of a life has brought its last snapshot to the global store as well.
  const auto but_two_nodes = [](PoweredJob& cut) {
    cut.lose_global_snapshots();
    cut.lose(2);
  };
  const auto take = [](const auto& lose, LevelId survives) {
    return [=](PoweredJob& cut, std::uint64_t seed) { return taken(cut, seed, lose, survives); };
  };
  const auto restore = [](const auto& before, const auto& after) {
    return [=](PoweredJob& cut, std::uint64_t seed) { return restored(cut, seed, before, after); };
  };
  return {
      {"nothing_lost",
       kLocal + kContinue,
       take(nothing, LevelId::local),
       {"sync node shard", "commit node manifest", "commit node chain mark", "commit global chain mark"}},
      {"everything_lost", kLocal + kContinue, take(lose_all, LevelId::global), {"commit global run record"}},
      {"a_copy_needed", kPartner + kContinue, take(node(1), LevelId::partner), {"commit node copy"}},
      {"parity_needed", kErasure + kContinue, take(node(1), LevelId::erasure), {"commit node parity"}},
      {"the_global_store_needed",
       kGlobal + kContinue,
       take(lose_all, LevelId::global),
       {"commit global node file", "commit global master", "commit global manifest", "rename global snapshot"}},
      {"a_shard_from_a_copy_needed", kPartner + kContinue, restore(node(1), but_two_nodes), {"commit node shard"}},
      {"a_decoded_shard_needed", kErasure + kContinue, restore(node(1), but_two_nodes), {"commit node shard"}},
      {"a_shard_from_the_global_store_needed",
       kGlobal + kContinue,
       restore(lose_all, but_two_nodes),
       {"commit node shard"}},
      {"the_end_of_the_chain_needed", kGlobal, ended, {"commit global run record"}},
      {"a_fresh_start_needed", kPartner + kContinue, began_fresh, {"commit global run record"}},
      {"costs_needed", kAuto + kContinue, restore(nothing, nothing), {"commit global costs"}},
  };
}

class NeededSync : public testing::TestWithParam<Scenario> {};

TEST_P(NeededSync, is_made_by_the_product) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    PoweredJob cut({2, 2, 2}, GetParam().settings);
    EXPECT_EQ(GetParam().play(cut, seed), "") << "seed " << seed;
  }
}

TEST_P(NeededSync, is_missed_when_it_is_taken_out) {
  for (const std::string& place : GetParam().shows) {
    std::string harm;
    for (std::uint64_t seed = 0; seed < kSeeds && harm.empty(); ++seed) {
      PoweredJob cut({2, 2, 2}, GetParam().settings);
      cut.syncs->take_out(place);
      harm = GetParam().play(cut, seed);
      EXPECT_TRUE(cut.syncs->made().contains(place)) << place << " is not made here";
    }
    EXPECT_NE(harm, "") << place << " is not needed";
  }
}

INSTANTIATE_TEST_SUITE_P(Of, NeededSync, testing::ValuesIn(scenarios()),
                         [](const auto& scenario) { return scenario.param.name; });

TEST(NeededSync, is_every_sync) {
  std::set<std::string> made;
  std::set<std::string> shown;
  for (const Scenario& scenario : scenarios()) {
    PoweredJob cut({2, 2, 2}, scenario.settings);
    (void)scenario.play(cut, 0);
    for (const auto& [place, times] : cut.syncs->made()) made.insert(place);
    shown.insert(scenario.shows.begin(), scenario.shows.end());
  }
  EXPECT_THAT(made, testing::ContainerEq(shown));
}

}  // namespace
}  // namespace cairn::test
