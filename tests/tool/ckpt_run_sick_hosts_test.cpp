// Hosts that earlier runs have found sick, as ckpt-run reads them.
#include "sick_hosts.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/health_file.hpp"
#include "store/names.hpp"
#include "store/posix/posix_store.hpp"
#include "support/temp_directory.hpp"

namespace ckpt_run {
namespace {

using cairn::HealthEntry;
using cairn::localize::Act;
using cairn::localize::Fault;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::chrono::seconds kNow{1'700'000'000};

class SickHosts : public testing::Test {
 protected:
  SickHosts() {
    config.storage.global = directory.path();
    config.job.name = "heat";
    config.localize.act = Act::replace;
  }
  static HealthEntry entry(const std::string& host, Fault fault) {
    HealthEntry entry;
    entry.host = host;
    entry.verdict.fault = fault;
    entry.text = "it is sick";
    entry.life = {1};
    entry.decided = static_cast<std::uint64_t>(kNow.count());
    entry.expires = entry.decided + 3600;
    return entry;
  }
  void write(std::vector<HealthEntry> entries) {
    store = cairn::PosixStore::open(directory.path(), "heat").value();
    ASSERT_TRUE(write_text(*store, cairn::names::health(), to_json(cairn::HealthFile{{1}, std::move(entries)})));
  }
  [[nodiscard]] std::vector<std::string> hosts(std::chrono::seconds later = {}) const {
    return sick_hosts(config, kNow + later).value();
  }
  cairn::test::TempDirectory directory{"/tmp"};
  cairn::Config config;
  std::shared_ptr<cairn::Store> store;
};

TEST_F(SickHosts, are_those_of_which_a_probe_has_confirmed_a_fault) {
  EXPECT_THAT(hosts(), IsEmpty());
  write({entry("c3", Fault::store_failing), entry("c1", Fault::node_swapping), entry("c3", Fault::link_degraded),
         entry("c4", Fault::undetermined), entry("c5", Fault::head_overloaded)});
  EXPECT_THAT(hosts(), ElementsAre("c1", "c3"));
  EXPECT_THAT(hosts(std::chrono::hours(1)), IsEmpty()) << "the verdicts have expired";
}

TEST_F(SickHosts, are_left_only_if_the_user_asks_for_it) {
  write({entry("c3", Fault::store_failing)});
  config.localize.act = Act::avoid;
  EXPECT_THAT(hosts(), IsEmpty());
  config.localize.act = Act::replace;
  config.localize.on = false;
  EXPECT_THAT(hosts(), IsEmpty());
}

TEST_F(SickHosts, are_not_known_if_the_file_is_damaged) {
  write({entry("c3", Fault::store_failing)});
  ASSERT_TRUE(write_text(*store, cairn::names::health(), "{"));
  EXPECT_FALSE(sick_hosts(config, kNow));
}

}  // namespace
}  // namespace ckpt_run
