// What libcairn_veloc knows without a job: VELOC's configuration file, and which versions a program has taken.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cairn/error.hpp>

#include "config/config.hpp"
#include "door/veloc/history.hpp"
#include "door/veloc/settings.hpp"

namespace cairn::door {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kPlaces = "scratch = /s\npersistent = /p\n";

Settings settings_of(const std::string& more, const std::map<std::string, std::string>& environment = {}) {
  return parse_settings(kPlaces + more, "veloc.cfg", [&](const std::string& name) -> std::optional<std::string> {
    const auto known = environment.find(name);
    return known == environment.end() ? std::nullopt : std::optional(known->second);
  });
}

std::string refusal_of(const std::string& more) {
  try {
    (void)settings_of(more);
  } catch (const Exception& error) {
    return error.what();
  }
  return "accepted";
}

Config config_of(const std::string& more) {
  const auto config = parse_config(ini_of(settings_of(more), "sim", "/s/sim"), "sim.ini", {});
  EXPECT_TRUE(config) << config.error().text();
  return config.value_or(Config{});
}

TEST(VelocSettings, have_the_keys_of_the_file_and_ignore_comments_sections_and_other_keys) {
  const Settings settings = settings_of(
      "; a comment\n# another\n\nmode: sync ; behind\nmax_versions = 3\naxl_type = x\n[other]\nmode = async\n");
  EXPECT_EQ(settings.scratch, "/s");
  EXPECT_TRUE(settings.sync);
  EXPECT_EQ(settings.max_versions, 3);
}

TEST(VelocSettings, of_the_environment_come_first) {
  const Settings settings = settings_of("ec_interval = 5\n", {{"VELOC_EC_INTERVAL", "7"}, {"VELOC_SCRATCH", "/t"}});
  EXPECT_EQ(settings.ec_interval, 7);
  EXPECT_EQ(settings.scratch, "/t");
}

TEST(VelocSettings, that_are_wrong_are_named) {
  EXPECT_THAT(refusal_of("mode = fast\n"), HasSubstr("mode = fast is unknown"));
  EXPECT_THAT(refusal_of("max_versions = -1\n"), HasSubstr("max_versions = -1 is no whole number from 0 to 1000"));
  EXPECT_THAT(refusal_of("ec_interval = 3x\n"), HasSubstr("ec_interval = 3x"));
  EXPECT_THAT(refusal_of("persistent_interval\n"), HasSubstr("veloc.cfg:3: \"persistent_interval\""));
  EXPECT_THAT(refusal_of("scratch =\n"), HasSubstr("the key scratch is missing"));
}

TEST(VelocSettings, are_a_configuration_of_Cairn) {
  const Config usual = config_of("");
  EXPECT_EQ(usual.job.name, "sim");
  EXPECT_EQ(usual.storage.keep_global, 1000U);
  EXPECT_EQ(usual.storage.keep_local, 2U);
  EXPECT_EQ(usual.levels.of(LevelId::global).calls, 1U);
  EXPECT_EQ(usual.restart.at_end, Config::Restart::AtEnd::continue_);
  EXPECT_FALSE(usual.head.mode);
  EXPECT_FALSE(usual.levels.insisted.has(LevelId::erasure));

  const Config other =
      config_of("mode = sync\nmax_versions = 3\nscratch_versions = 4\nec_interval = -1\npersistent_interval = 60\n");
  EXPECT_EQ(other.head.mode, HeadMode::inline_);
  EXPECT_EQ(other.storage.keep_global, 3U);
  EXPECT_EQ(other.storage.keep_local, 4U);
  EXPECT_EQ(other.levels.of(LevelId::partner).kind, Interval::Kind::off);
  EXPECT_EQ(other.levels.of(LevelId::erasure).kind, Interval::Kind::off);
  EXPECT_EQ(other.levels.of(LevelId::global).time, std::chrono::minutes(1));
  EXPECT_EQ(config_of("threaded = true\n").head.mode, HeadMode::thread);
}

History history_of(const std::vector<int>& versions, std::size_t most = 9) {
  History history;
  for (const int version : versions) {
    history.add({.version = version, .snapshot = 0, .has_file = version % 2 == 1, .memory = {{version, 8}, {-1, 0}}},
                most);
    history.number_last(static_cast<std::uint32_t>(version) + 100);
  }
  return history;
}

TEST(VelocHistory, has_the_highest_version_up_to_a_number) {
  const History history = history_of({10, 30, 20});
  EXPECT_EQ(history.highest(0), 30);
  EXPECT_EQ(history.highest(29), 20);
  EXPECT_EQ(history.highest(9), std::nullopt);
  EXPECT_EQ(history_of({0}).highest(0), 0);
}

TEST(VelocHistory, has_the_number_of_the_last_snapshot_when_it_is_known) {
  History history = history_of({10, 30, 20});
  EXPECT_EQ(history.find(20)->snapshot, 120U);
  history.number_last(7);
  EXPECT_EQ(history.find(20)->snapshot, 7U);
  EXPECT_EQ(history.find(30)->snapshot, 130U);
  History().number_last(7);
}

TEST(VelocHistory, has_a_version_once_and_forgets_the_oldest) {
  EXPECT_THAT(history_of({1, 2, 1}).versions(), ElementsAre(2, 1));
  EXPECT_THAT(history_of({1, 2, 3, 4}, 2).versions(), ElementsAre(3, 4));
}

TEST(VelocHistory, is_the_same_after_it_was_stored) {
  const History history = history_of({1, 2, 40});
  const History read = History::decode(history.encode());
  EXPECT_THAT(read.versions(), ElementsAre(1, 2, 40));
  for (const int version : read.versions()) EXPECT_EQ(*read.find(version), *history.find(version));
}

TEST(VelocHistory, of_numbers_that_are_cut_has_what_is_complete) {
  const std::vector<std::int64_t> whole = history_of({1, 2}).encode();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const History read = History::decode({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    EXPECT_EQ(read.versions().size(), size < whole.size() / 2 ? 0U : 1U) << size;
  }
  EXPECT_TRUE(History::decode({1, 7, 0, -5, 3}).versions().empty());
}

}  // namespace
}  // namespace cairn::door
