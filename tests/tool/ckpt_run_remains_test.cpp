// What ckpt-run makes of symptoms that the heads of a job had not analysed when MPI ended it.
#include "remains.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "format/health_file.hpp"
#include "format/symptom_file.hpp"
#include "store/names.hpp"
#include "store/posix/posix_store.hpp"
#include "support/sample_manifest.hpp"
#include "support/temp_directory.hpp"

namespace ckpt_run {
namespace {

using cairn::SymptomKind;
using cairn::localize::Fault;

constexpr std::chrono::seconds kEndedAt{1'700'000'000};

// Two nodes on host c1 and one on c2, which are directories of this machine.
class RemainsTest : public testing::Test {
 protected:
  RemainsTest() {
    config.storage.global = directory.path() + "/global";
    config.storage.local = directory.path() + "/it's local";
    config.job.name = "heat";
    placement.nodes = 3;
    placement.simulated = true;
    placement.hosts = {{"c1", 4, {0, 1}, {0, 1}}, {"c2", 2, {2}, {2}}};
    for (std::uint32_t node = 0; node < 3; ++node) std::filesystem::create_directories(store_of(node));
    std::filesystem::create_directories(config.storage.global);
    store = cairn::PosixStore::open(config.storage.global, "heat").value();
    const cairn::RunRecord record = cairn::test::sample_run_record();
    EXPECT_TRUE(write_text(*store, cairn::names::run_record(record.incarnation, record.run), to_json(record)));
  }
  [[nodiscard]] std::string store_of(std::uint32_t node) const {
    return config.storage.local + "/" + cairn::names::node_directory(cairn::NodeId{node}) + "/heat";
  }
  [[nodiscard]] std::string spool_of(std::uint32_t node) const {
    return store_of(node) + "/" + cairn::names::symptoms().path;
  }
  // So many errors of the store of a node, kept in the store of another one.
  void keep(std::uint32_t in, const std::string& host, std::uint32_t place, std::uint32_t count,
            SymptomKind kind = SymptomKind::store_error) const {
    cairn::localize::Observation seen;
    seen.kind = kind;
    seen.reporter = cairn::NodeId{in};
    seen.count = count;
    seen.worst = 1;
    std::ofstream(spool_of(in)) << to_json(
        cairn::SymptomFile{static_cast<std::uint64_t>(kEndedAt.count()) - 5, {{host, place, seen}}});
  }
  [[nodiscard]] Remains examine(const std::vector<std::string>& lost = {}) {
    const auto remains =
        examine_remains(config, placement, lost, kEndedAt, [&](const std::vector<HostCommand>& wanted) {
          std::vector<std::vector<std::string>> commands;
          for (const auto& [host, command] : wanted) {
            hosts.push_back(host);
            commands.push_back({"sh", "-c", host == silent ? "exit 255" : command});
          }
          return run_all_for_output(commands, std::chrono::seconds(20), kMostAnswerBytes, [] { return false; });
        });
    EXPECT_TRUE(remains) << remains.error().text();
    return remains.value_or(Remains{});
  }
  [[nodiscard]] std::vector<cairn::HealthEntry> entries() const {
    const auto text = read_text(*store, cairn::names::health());
    return text ? cairn::parse_health_file(*text).value().entries : std::vector<cairn::HealthEntry>{};
  }
  cairn::test::TempDirectory directory{"/tmp"};
  cairn::Config config;
  Placement placement;
  std::shared_ptr<cairn::Store> store;
  std::vector<std::string> hosts;  // asked
  std::string silent;              // does not answer
};

TEST_F(RemainsTest, a_store_that_can_be_written_again_leaves_the_fault_undetermined) {
  keep(0, "c1", 1, 2);
  const auto remains = examine();
  EXPECT_TRUE(remains.unread.empty());
  ASSERT_EQ(remains.verdicts.size(), 1U);
  ASSERT_EQ(entries().size(), 1U);
  const auto entry = entries()[0];
  EXPECT_EQ(entry.verdict.fault, Fault::undetermined);
  EXPECT_EQ(entry.verdict.suspect.node, cairn::NodeId{1});
  EXPECT_EQ(entry.verdict.evidence.at(0).count, 2U);
  EXPECT_EQ(entry.host, "c1");
  EXPECT_EQ(entry.life, cairn::test::sample_run_record().incarnation);
  for (const auto& file : std::filesystem::directory_iterator(store_of(1))) ADD_FAILURE() << file.path() << " is left";
}

TEST_F(RemainsTest, a_store_that_cannot_be_written_fails) {
  keep(0, "c2", 0, 2);
  std::filesystem::remove_all(store_of(2));
  ASSERT_EQ(examine().verdicts.size(), 1U);
  EXPECT_EQ(entries().at(0).verdict.fault, Fault::store_failing);
  EXPECT_EQ(entries().at(0).host, "c2");
}

TEST_F(RemainsTest, symptoms_of_several_nodes_add_up_and_hosts_may_have_their_domain) {
  keep(0, "c2.cluster", 0, 1);
  keep(1, "c2", 0, 1);
  EXPECT_EQ(examine().verdicts.size(), 1U);
}

TEST_F(RemainsTest, too_few_symptoms_prove_nothing) {
  keep(0, "c1", 1, 1);
  EXPECT_TRUE(examine().verdicts.empty());
  EXPECT_TRUE(entries().empty());
}

TEST_F(RemainsTest, a_process_that_mpi_has_reported_as_dead_does_not_make_its_node_sick) {
  keep(0, "c1", 1, 3, SymptomKind::process_failed);
  const auto remains = examine();
  EXPECT_TRUE(remains.unread.empty());
  EXPECT_TRUE(remains.verdicts.empty());
  EXPECT_TRUE(entries().empty());
}

TEST_F(RemainsTest, nodes_whose_symptoms_cannot_be_read_are_named) {
  keep(0, "c1", 1, 2);
  std::ofstream(spool_of(1)) << "{";
  silent = "c2";
  const auto remains = examine();
  EXPECT_EQ(remains.verdicts.size(), 1U);
  ASSERT_EQ(remains.unread.size(), 2U);
  EXPECT_EQ(remains.unread[0].node, 1U);
  EXPECT_EQ(remains.unread[1].node, 2U);
  EXPECT_EQ(remains.unread[1].host, "c2");
}

TEST_F(RemainsTest, a_link_is_not_followed) {
  keep(0, "c1", 1, 2);
  std::filesystem::rename(spool_of(0), directory.path() + "/elsewhere");
  std::filesystem::create_symlink(directory.path() + "/elsewhere", spool_of(0));
  const auto remains = examine();
  EXPECT_TRUE(remains.verdicts.empty());
  ASSERT_EQ(remains.unread.size(), 1U);
  EXPECT_EQ(remains.unread[0].node, 0U);
}

TEST_F(RemainsTest, hosts_that_are_lost_are_not_asked) {
  keep(2, "c2", 0, 2);
  EXPECT_TRUE(examine({"c2"}).verdicts.empty());
  EXPECT_EQ(hosts, (std::vector<std::string>{"c1", "c1"}));
}

TEST_F(RemainsTest, ranks_that_their_head_has_found_dead_are_dead) {
  const auto life = cairn::test::sample_run_record().incarnation;
  cairn::HealthEntry dead;
  dead.verdict.fault = Fault::process_dead;
  dead.verdict.suspect = {cairn::NodeId{1}, cairn::Rank{5}};
  dead.host = "c1";
  dead.life = life;
  dead.expires = static_cast<std::uint64_t>(kEndedAt.count()) + 60;
  cairn::HealthEntry silent = dead;
  silent.verdict.fault = Fault::node_down;
  silent.verdict.suspect = {cairn::NodeId{2}, std::nullopt};
  cairn::HealthEntry before = dead;
  before.verdict.suspect.rank = cairn::Rank{6};
  before.life = cairn::Incarnation{life.value - 1};
  const cairn::HealthFile health{life, {dead, silent, before}};
  ASSERT_TRUE(write_text(*store, cairn::names::health(), to_json(health)));
  EXPECT_EQ(examine().dead_ranks, std::vector<std::uint32_t>{5});
}

TEST_F(RemainsTest, nothing_is_asked_where_fault_localization_is_off) {
  keep(0, "c1", 1, 2);
  config.localize.on = false;
  EXPECT_TRUE(examine().verdicts.empty());
  EXPECT_TRUE(hosts.empty());
}

}  // namespace
}  // namespace ckpt_run
