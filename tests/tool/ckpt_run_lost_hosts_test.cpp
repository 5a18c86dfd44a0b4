// Hosts that do not answer once a job has ended, as ckpt-run notes them for ckpt-tool health.
#include "lost_hosts.hpp"

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "format/health_file.hpp"
#include "store/names.hpp"
#include "store/posix/posix_store.hpp"
#include "support/sample_manifest.hpp"
#include "support/temp_directory.hpp"

namespace ckpt_run {
namespace {

constexpr std::chrono::seconds kToday{1'700'000'000};

class LostHosts : public testing::Test {
 protected:
  LostHosts() {
    config.storage.global = directory.path();
    config.job.name = "heat";
    placement.nodes = 3;
    placement.hosts = {{"c1", 4, {0, 1}, {0, 1}}, {"c2", 2, {2}, {2}}};
  }
  void begin_run() {
    store = cairn::PosixStore::open(directory.path(), "heat").value();
    const cairn::RunRecord record = cairn::test::sample_run_record();
    ASSERT_TRUE(write_text(*store, cairn::names::run_record(record.incarnation, record.run), to_json(record)));
  }
  [[nodiscard]] std::vector<cairn::HealthEntry> entries() const {
    const auto text =
        store ? read_text(*store, cairn::names::health()) : cairn::fail(cairn::Code::not_found, "no store");
    if (!text) return {};
    const auto health = cairn::parse_health_file(*text);
    EXPECT_TRUE(health) << health.error().text();
    return health ? health->entries : std::vector<cairn::HealthEntry>{};
  }
  cairn::test::TempDirectory directory{"/tmp"};
  cairn::Config config;
  Placement placement;
  std::shared_ptr<cairn::Store> store;
};

TEST_F(LostHosts, are_shown_with_each_of_their_nodes_under_the_run_that_they_ended) {
  begin_run();
  ASSERT_TRUE(note_lost_hosts(config, placement, {"c1"}, kToday));
  const auto shown = entries();
  ASSERT_EQ(shown.size(), 2U);
  for (std::uint32_t node = 0; node < 2; ++node) {
    EXPECT_EQ(shown[node].verdict.fault, cairn::localize::Fault::node_down);
    EXPECT_EQ(shown[node].verdict.suspect.node.value, node);
    EXPECT_EQ(shown[node].host, "c1");
    EXPECT_EQ(shown[node].life, cairn::test::sample_run_record().incarnation);
    EXPECT_EQ(shown[node].decided, kToday.count());
  }
}

TEST_F(LostHosts, of_a_job_that_has_never_opened_a_session_are_not_noted) {
  ASSERT_TRUE(note_lost_hosts(config, placement, {"c1"}, kToday));
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST_F(LostHosts, are_not_noted_where_fault_localization_is_off) {
  begin_run();
  config.localize.on = false;
  ASSERT_TRUE(note_lost_hosts(config, placement, {"c1"}, kToday));
  EXPECT_TRUE(entries().empty());
}

}  // namespace
}  // namespace ckpt_run
