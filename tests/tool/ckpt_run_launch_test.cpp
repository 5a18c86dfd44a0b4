// What ckpt-run starts a job with: options, where ranks go, the launcher's command line, processes, other hosts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "agent.hpp"
#include "command.hpp"
#include "exit_code.hpp"
#include "options.hpp"
#include "placement.hpp"
#include "process.hpp"
#include "support/facts.hpp"

namespace ckpt_run {
namespace {

using cairn::Config;
using cairn::test::Fails;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using Words = std::vector<std::string>;

Config config_of(const std::string& text) { return cairn::parse_config(text, "test.ini", {}).value(); }

Placement placed(std::uint32_t ranks, const Config& config, const Words& hosts = {"a"}, std::uint32_t spares = 0,
                 const Words& spare_hosts = {}) {
  return place(ranks, spares, config, hosts, spare_hosts).value();
}

std::vector<std::uint32_t> ranks_by_host(const Placement& placement) {
  std::vector<std::uint32_t> ranks;
  for (const HostRanks& host : placement.hosts) ranks.push_back(host.ranks);
  return ranks;
}

CommandLine parse(const Words& words) {
  std::vector<const char*> argv{"ckpt-run"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  return parse_command_line(static_cast<int>(argv.size()), argv.data());
}

TEST(Placement, puts_a_head_on_top_of_every_host_s_ranks) {
  const auto placement = placed(5, Config{}, {"a", "b"});
  EXPECT_THAT(ranks_by_host(placement), ElementsAre(4, 3));
  EXPECT_THAT(placement.hosts[1].application_ranks, ElementsAre(3, 4));
  EXPECT_EQ(placement.text(), "5 application ranks + 2 heads on 2 nodes");
}

TEST(Placement, adds_no_rank_where_heads_are_threads_or_inline) {
  for (const char* mode : {"thread", "inline"}) {
    const auto placement = placed(4, config_of(fmt::format("[head]\nmode = {}", mode)), {"a", "b"});
    EXPECT_EQ(placement.world(), 4U);
    EXPECT_EQ(placement.text(), "4 application ranks on 2 nodes");
  }
}

TEST(Placement, tells_the_job_of_its_world_where_that_is_the_applications) {
  const auto told = [](const std::string& text) {
    const Config config = config_of("[topology]\nnode_size = 3\n" + text);
    return world_of(config, placed(4, config));
  };
  EXPECT_EQ(told("[job]\nworld = application"), (cairn::StartedWorld{{3}, 0}));
  EXPECT_EQ(told("[job]\nworld = as is"), std::nullopt);
  EXPECT_EQ(told(""), (cairn::StartedWorld{{3}, 0}));
  EXPECT_EQ(told("[head]\nmode = inline"), std::nullopt);
  EXPECT_EQ(told("[recovery]\nmode = spares"), std::nullopt);
  EXPECT_EQ(told("[job]\nworld = application\n[recovery]\nmode = spares"), (cairn::StartedWorld{{3}, 0, true}));
}

TEST(Placement, makes_simulated_nodes_of_the_size_that_is_configured) {
  const auto even = placed(5, config_of("[topology]\nnode_size = 3"));
  EXPECT_EQ(even.text(), "5 application ranks + 3 heads on 3 simulated nodes");
  EXPECT_EQ(even.world(), 8U);
  const auto uneven = placed(5, config_of("[topology]\nnode_size = 3,2,3"), {"a", "b"});
  EXPECT_THAT(ranks_by_host(uneven), ElementsAre(5, 3));
  EXPECT_THAT(uneven.hosts[0].nodes, ElementsAre(0, 1));
  EXPECT_THAT(uneven.hosts[1].application_ranks, ElementsAre(3, 4));
}

TEST(Placement, agrees_with_the_topology_that_the_job_makes_of_it) {
  for (const char* text : {"", "[topology]\nnode_size = 3", "[topology]\nnode_size = 3,2,4", "[head]\nmode = inline",
                           "[head]\nmode = thread\n[topology]\nnode_size = 4"}) {
    const auto config = config_of(text);
    const auto placement = placed(6, config, {"a", "b"});
    Words host_of_world;
    for (const HostRanks& host : placement.hosts) host_of_world.insert(host_of_world.end(), host.ranks, host.host);
    const auto topology =
        make_topology(host_of_world, config.topology.node_size, config.head.mode.value_or(cairn::HeadMode::rank))
            .value();
    EXPECT_EQ(topology.rank_count(), 6U) << text;
    EXPECT_EQ(topology.node_count(), placement.nodes) << text;
    for (const HostRanks& host : placement.hosts) {
      std::vector<std::uint32_t> ranks;
      for (const auto node : host.nodes) {
        for (const auto rank : topology.nodes[node].ranks) ranks.push_back(rank.value);
      }
      EXPECT_EQ(ranks, host.application_ranks) << text;
    }
  }
}

TEST(Placement, puts_spares_last_on_spare_hosts_or_else_on_the_last_host) {
  const auto config = config_of("[recovery]\nmode = spares");
  EXPECT_THAT(ranks_by_host(placed(4, config, {"a", "b"}, 3, {"s", "t"})), ElementsAre(3, 3, 2, 1));
  EXPECT_THAT(ranks_by_host(placed(4, config, {"a", "b"}, 1)), ElementsAre(3, 4));
  EXPECT_EQ(placed(4, config, {"a"}, 2).text(), "4 application ranks + 1 head + 2 spares on 1 node");
}

TEST(Placement, has_as_many_spares_as_the_configuration_says_unless_told_otherwise) {
  const auto spares_in = [](std::optional<std::uint32_t> wanted, const std::string& text) {
    return place(4, wanted, config_of("[recovery]\nspares = 2\n" + text), {"a"}, {}).value().spares;
  };
  EXPECT_EQ(spares_in({}, "mode = spares"), 2U);
  EXPECT_EQ(spares_in({}, "mode = respawn"), 2U);
  EXPECT_EQ(spares_in(0, "mode = spares"), 0U);
  EXPECT_EQ(spares_in(5, "mode = spares"), 5U);
}

TEST(Placement, refuses_spares_that_nothing_would_use) {
  const auto placement = place(4, 1, Config{}, {"a"}, {});
  EXPECT_THAT(placement, Fails(cairn::Code::invalid_argument, {"--spares 1", "mode = spares", "respawn"}));
}

TEST(Placement, has_a_spare_on_each_spare_host_where_new_processes_are_to_be_started) {
  const auto config = config_of("[recovery]\nmode = respawn");
  EXPECT_THAT(ranks_by_host(placed(4, config, {"a", "b"}, 0, {"s", "t"})), ElementsAre(3, 3, 1, 1));
  EXPECT_THAT(ranks_by_host(placed(4, config, {"a", "b"}, 3, {"s", "t"})), ElementsAre(3, 3, 2, 1));
  EXPECT_EQ(placed(4, config, {"a"}, 0, {"s"}).text(), "4 application ranks + 1 head + 1 spare on 1 node");
  EXPECT_THAT(ranks_by_host(placed(4, Config{}, {"a", "b"}, 0, {"s"})), ElementsAre(3, 3));
}

TEST(Placement, refuses_what_cannot_be_and_says_why) {
  const auto refused = [](std::uint32_t ranks, const std::string& text, const Words& hosts) {
    return place(ranks, 0, config_of(text), hosts, {});
  };
  EXPECT_THAT(refused(2, "", {"a", "b", "c"}), Fails(cairn::Code::invalid_argument, {"2", "3"}));
  EXPECT_THAT(refused(4, "[topology]\nnode_size = 3,2", {"a"}), Fails(cairn::Code::config, {"node_size", "3", "4"}));
  EXPECT_THAT(refused(4, "[topology]\nnode_size = 1", {"a"}), Fails(cairn::Code::config, {"node_size", "1"}));
}

// A command line as one would type it.
std::string command_of(const Options& options, const Config& config, const Facts& facts, const Placement& placement) {
  const auto command = launch_command(options, config, facts, placement, {{"CKPT_RUN_MARK", "/m"}});
  EXPECT_EQ(command.environment.at("CKPT_RUN_MARK"), "/m");
  return fmt::format("{}", fmt::join(command.argv, " "));
}

Options options_of(Words words) {
  words.insert(words.end(), {"-n", "4", "--", "app", "-x", "1"});
  return parse(words).options.value();
}

Facts open_mpi(std::uint32_t major, std::uint32_t processors = 64) {
  Facts facts;
  facts.major = major;
  facts.fault_tolerant = major >= 5;
  facts.processors = processors;
  return facts;
}

TEST(Command, of_open_mpi_fills_hosts_in_order_and_hands_variables_to_every_rank) {
  const auto options = options_of({"--hosts", "a,b"});
  EXPECT_EQ(command_of(options, Config{}, open_mpi(4), placed(4, Config{}, {"a", "b"})),
            "mpirun -n 6 --map-by slot:OVERSUBSCRIBE --host a:3,b:3 --mca oob_tcp_keepalive_time 10 "
            "--mca oob_tcp_keepalive_intvl 2 --mca oob_tcp_keepalive_probes 5 -x CKPT_RUN_MARK app -x 1");
}

TEST(Command, leaves_ranks_unbound_and_yielding_where_there_are_more_than_processors) {
  const auto crowded = command_of(options_of({}), Config{}, open_mpi(4, 4), placed(4, Config{}));
  EXPECT_THAT(crowded,
              AllOf(HasSubstr("--bind-to none"), HasSubstr("mpi_yield_when_idle 1"), Not(HasSubstr("--host"))));
  const auto roomy = command_of(options_of({}), Config{}, open_mpi(4, 5), placed(4, Config{}));
  EXPECT_THAT(roomy, AllOf(Not(HasSubstr("--bind-to")), Not(HasSubstr("yield"))));
}

TEST(Command, leaves_ranks_unbound_where_heads_are_their_threads) {
  const auto config = config_of("[head]\nmode = thread");
  EXPECT_THAT(command_of(options_of({}), config, open_mpi(4), placed(4, config)), HasSubstr("--bind-to none"));
}

TEST(Command, takes_what_the_user_says_instead_of_its_own) {
  const auto options = options_of({"--mpi-options", "--bind-to core --map-by socket", "--agent", "rsh -q"});
  const auto command = command_of(options, Config{}, open_mpi(4, 1), placed(4, Config{}));
  EXPECT_THAT(command, AllOf(HasSubstr("--bind-to core --map-by socket app"), Not(HasSubstr("none")),
                             Not(HasSubstr("OVERSUBSCRIBE")), HasSubstr("--mca plm_rsh_agent rsh -q")));
  EXPECT_THAT(command_of(options, Config{}, open_mpi(5), placed(4, Config{})),
              HasSubstr("--prtemca plm_ssh_agent rsh -q"));
}

TEST(Command, turns_ulfm_on_only_where_the_job_mends_itself) {
  Config config;
  EXPECT_THAT(command_of(options_of({}), config, open_mpi(5), placed(4, config)), Not(HasSubstr("ulfm")));
  config.recovery.mode = Config::Recovery::Mode::spares;
  EXPECT_THAT(command_of(options_of({}), config, open_mpi(5), placed(4, config)),
              AllOf(HasSubstr("--with-ft ulfm"), HasSubstr("--mca coll self,basic,tuned,libnbc,inter,ftagree"),
                    HasSubstr("--mca async_mpi_finalize 1"), HasSubstr("--prtemca state_base_recoverable 1"),
                    HasSubstr("--mca btl self,sm ")));
  EXPECT_THAT(command_of(options_of({}), config, open_mpi(5), placed(4, config, {"a", "b"})),
              AllOf(HasSubstr("--mca btl self,sm,tcp "), Not(HasSubstr("if_include"))));
  config.recovery.mode = Config::Recovery::Mode::respawn;
  EXPECT_THAT(command_of(options_of({}), config, open_mpi(5), placed(4, config)),
              HasSubstr("--mca btl self,sm,tcp --mca btl_tcp_if_include lo"));
}

TEST(Command, has_files_opened_by_ranks_that_were_started_at_different_times) {
  Config config;
  config.recovery.mode = Config::Recovery::Mode::spares;
  const auto files = HasSubstr("--mca sharedfp ^sm");
  EXPECT_THAT(command_of(options_of({}), config, open_mpi(5), placed(4, config)), Not(files));
  config.recovery.when_spent = Config::Recovery::WhenSpent::respawn;
  EXPECT_THAT(command_of(options_of({}), config, open_mpi(5), placed(4, config)), files);
  EXPECT_THAT(command_of(options_of({"--mpi-options", "--mca sharedfp sm"}), config, open_mpi(5), placed(4, config)),
              Not(files));
}

TEST(Command, has_messages_over_TCP_sent_so_that_their_sender_may_die) {
  Config config;
  config.recovery.mode = Config::Recovery::Mode::spares;
  const auto flags = HasSubstr("--mca btl_tcp_flags 9");
  EXPECT_THAT(command_of(options_of({}), config, open_mpi(5), placed(4, config, {"a", "b"})), flags);
  // Also where the user has named the transports.
  EXPECT_THAT(command_of(options_of({"--mpi-options", "--mca btl self,tcp"}), config, open_mpi(5), placed(4, config)),
              flags);
  EXPECT_THAT(
      command_of(options_of({"--mpi-options", "--mca btl_tcp_flags 8"}), config, open_mpi(5), placed(4, config)),
      Not(flags));
  EXPECT_THAT(command_of(options_of({}), Config{}, open_mpi(5), placed(4, Config{}, {"a", "b"})), Not(flags));
}

TEST(Command, refuses_a_job_that_mends_itself_where_mpi_cannot) {
  Config config;
  EXPECT_FALSE(mends_itself(config, open_mpi(4)).value());
  config.recovery.mode = Config::Recovery::Mode::spares;
  EXPECT_TRUE(mends_itself(config, open_mpi(5)).value());
  for (Facts facts : {open_mpi(4), open_mpi(5), open_mpi(5)}) {
    facts.fault_tolerant = false;
    EXPECT_THAT(mends_itself(config, facts),
                Fails(cairn::Code::config, {"mode = spares", "Open MPI 5", "mode = restart"}));
  }
}

TEST(Command, preloads_what_ranks_need_in_them_alone) {
  Facts facts;
  facts.kind = LauncherKind::hydra;
  facts.preload = "/opt/cairn/lib/libcairn-tap.so.0.1:mine.so";
  Config config;
  EXPECT_EQ(command_of(options_of({}), config, facts, placed(4, config)),
            "mpirun -n 5 env LD_PRELOAD=/opt/cairn/lib/libcairn-tap.so.0.1:mine.so app -x 1");
  config.job.tap = false;
  EXPECT_EQ(command_of(options_of({}), config, facts, placed(4, config)), "mpirun -n 5 app -x 1");
}

TEST(Command, of_slurm_lists_a_host_for_every_rank) {
  Facts facts;
  facts.kind = LauncherKind::slurm;
  const auto options = options_of({"--hosts", "a,b", "--launcher", "srun"});
  const auto placement = placed(3, Config{}, {"a", "b"});
  const auto command = launch_command(options, Config{}, facts, placement, {});
  EXPECT_EQ(command.host_list, "a\na\na\nb\nb\n");
  EXPECT_THAT(command.argv, ElementsAre("srun", "-n", "5", "--kill-on-bad-exit=1", "--overcommit",
                                        "--distribution=arbitrary", "--input=0", "app", "-x", "1"));
}

TEST(Command, of_slurm_gives_its_job_a_name_of_ours_to_be_canceled_by) {
  Facts facts;
  facts.kind = LauncherKind::slurm;
  const auto options = options_of({"--launcher", "/opt/slurm/bin/srun", "--mpi-options", "--job-name=mine"});
  const auto argv = launch_command(options, Config{}, facts, placed(3, Config{}), {{"CKPT_RUN_JOB", "j"}}).argv;
  EXPECT_THAT(fmt::format("{}", fmt::join(argv, " ")), HasSubstr(" --job-name=mine --job-name=j app "));
  EXPECT_THAT(cancel_command(options, "j"), ElementsAre("/opt/slurm/bin/scancel", "--quiet", "--me", "--name=j"));
}

TEST(Command, of_hydra_names_hosts_with_their_ranks) {
  Facts facts;
  facts.kind = LauncherKind::hydra;
  const auto placement = placed(4, Config{}, {"a", "b"});
  EXPECT_EQ(command_of(options_of({"--hosts", "a,b"}), Config{}, facts, placement),
            "mpirun -n 6 -hosts a:3,b:3 app -x 1");
}

TEST(Command, of_hydra_starts_its_proxies_by_the_agent) {
  Facts facts;
  facts.kind = LauncherKind::hydra;
  const auto options = options_of({"--hosts", "a,b", "--agent", "/bin/agent -q two"});
  const auto command = launch_command(options, Config{}, facts, placed(4, Config{}, {"a", "b"}), {});
  EXPECT_THAT(fmt::format("{}", fmt::join(command.argv, " ")), HasSubstr(" -launcher rsh -launcher-exec /bin/agent "));
  EXPECT_EQ(command.environment.at("HYDRA_LAUNCHER_EXTRA_ARGS"), "-q two");
}

TEST(Facts, are_read_from_what_launchers_say) {
  const auto four = read_launcher("mpirun (Open MPI) 4.1.4\n", "options:ft_support:\"no (checkpoint thread: no)\"\n");
  EXPECT_EQ(four->major, 4U);
  EXPECT_FALSE(four->fault_tolerant);
  EXPECT_TRUE(read_launcher("mpirun (Open MPI) 5.0.7\n", "a:b\noptions:ft_support:yes\n")->fault_tolerant);
  EXPECT_FALSE(read_launcher("mpirun (Open MPI) 5.0.7\n", "options:ft_support:no\n")->fault_tolerant);
  EXPECT_FALSE(read_launcher("mpirun (Open MPI) 5.0.7\n", "")->fault_tolerant);
  EXPECT_THAT(read_launcher("GNU bash 5\n", ""), Fails(cairn::Code::not_found, {"GNU bash 5"}));
}

// The whole text, as the launcher in the file's name prints it.
Facts facts_of(const std::string& file, std::string_view ompi_info = {}) {
  std::ifstream in(std::string(CAIRN_LAUNCHERS) + "/" + file + ".txt", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  auto facts = read_launcher(text, ompi_info);
  EXPECT_TRUE(facts) << file << ": " << text;
  return facts.value_or(Facts{});
}

TEST(Facts, tell_launchers_apart_by_their_whole_texts) {
  for (const char* file : {"open-mpi-4.1.4", "open-mpi-4.1.4-by-another-name", "open-mpi-5.0.7", "prrte-3.0.8"})
    EXPECT_EQ(facts_of(file).kind, LauncherKind::open_mpi) << file;
  for (const char* file : {"mpich-4.0.2", "intel-mpi-2018.2", "intel-mpi-2021.10"})
    EXPECT_EQ(facts_of(file).kind, LauncherKind::hydra) << file;
  for (const char* file : {"slurm-22.05.8-debian", "slurm-23.11.4"})
    EXPECT_EQ(facts_of(file).kind, LauncherKind::slurm) << file;
}

TEST(Facts, know_the_version_of_Open_MPI_whatever_its_launcher_calls_itself) {
  EXPECT_EQ(facts_of("open-mpi-4.1.4").major, 4U);
  EXPECT_EQ(facts_of("open-mpi-5.0.7").major, 5U);
  EXPECT_EQ(facts_of("open-mpi-4.1.4-by-another-name", "ompi:version:full:4.1.4\n").major, 4U);
  const auto five = facts_of("prrte-3.0.8", "ompi:version:full:5.0.7\noptions:ft_support:yes\n");
  EXPECT_EQ(five.major, 5U);
  EXPECT_TRUE(five.fault_tolerant);
}

TEST(Facts, know_the_codes_of_launchers_whose_rank_was_killed) {
  for (const auto kind : {LauncherKind::open_mpi, LauncherKind::slurm, LauncherKind::hydra}) {
    for (const int code : {128 + SIGKILL, 128 + SIGTERM}) EXPECT_TRUE(may_be_of_a_kill(kind, code)) << code;
    for (const int code : {0, 1, 128, 128 + SIGSEGV, 255}) EXPECT_FALSE(may_be_of_a_kill(kind, code)) << code;
    for (const int code : {SIGKILL, SIGTERM}) EXPECT_EQ(may_be_of_a_kill(kind, code), kind == LauncherKind::hydra);
    for (const int code : {0, 1, 128 + SIGKILL}) EXPECT_FALSE(may_be_its_own(kind, code)) << code;
    EXPECT_EQ(may_be_its_own(kind, 255), kind == LauncherKind::hydra);
  }
}

TEST(Facts, have_the_hosts_of_a_batch_job_in_the_order_of_its_file) {
  std::istringstream file("b\nb\na 8 all.q\n\nb\nc\n");
  EXPECT_THAT(hosts_in(file), ElementsAre("b", "a", "c"));
}

TEST(Facts, call_this_host_as_the_launcher_does) {
  Facts facts;
  facts.host = "node1.cluster.org";
  EXPECT_EQ(name_of_this_host(facts), "node1.cluster.org");
  facts.kind = LauncherKind::slurm;
  EXPECT_EQ(name_of_this_host(facts), "node1");
}

TEST(Facts, know_a_host_with_and_without_its_domain) {
  EXPECT_TRUE(same_host("node1", "node1"));
  EXPECT_TRUE(same_host("node1.cluster.org", "node1"));
  EXPECT_FALSE(same_host("node1", "node11"));
}

TEST(Options, leave_everything_after_two_dashes_to_the_application) {
  const auto options = parse({"-n", "4", "--", "app", "--config", "a.ini", "-n", "--", "9"}).options.value();
  EXPECT_THAT(options.application, ElementsAre("app", "--config", "a.ini", "-n", "--", "9"));
  EXPECT_EQ(options.config, "a.ini");
}

TEST(Options, find_the_application_without_dashes_too) {
  const auto options = parse({"-n", "4", "app", "--config=a.ini", "-n", "9"}).options.value();
  EXPECT_THAT(options.application, ElementsAre("app", "--config=a.ini", "-n", "9"));
  EXPECT_EQ(options.ranks, 4U);
  EXPECT_EQ(options.config, "a.ini");
}

TEST(Options, take_a_list_of_hosts_as_one_word) {
  const auto options = parse({"-n", "4", "--hosts", "a,b", "--spare-hosts", "c", "app", "x"}).options.value();
  EXPECT_THAT(options.hosts, ElementsAre("a", "b"));
  EXPECT_THAT(options.spare_hosts, ElementsAre("c"));
  EXPECT_THAT(options.application, ElementsAre("app", "x"));
}

TEST(Options, have_a_number_of_ranks_or_the_fewest_and_the_most) {
  const auto fixed = parse({"-n", "8", "app"}).options.value();
  EXPECT_EQ(fixed.ranks, 8U);
  EXPECT_EQ(fixed.fewest, std::nullopt);
  for (const char* option : {"-n", "--ranks"}) {
    const auto range = parse({option, "4:8", "app"}).options.value();
    EXPECT_EQ(range.ranks, 8U);
    EXPECT_EQ(range.fewest, 4U);
  }
}

TEST(Options, guess_no_configuration_among_several) {
  EXPECT_EQ(config_among({"app", "a.ini", "b.ini"}), "");
  EXPECT_EQ(config_among({"app.ini", "x"}), "");
  EXPECT_EQ(config_among({"app", "a.ini", "--again", "a.ini"}), "a.ini");
}

TEST(Options, say_which_to_leave_out_where_the_number_of_ranks_is_given_twice) {
  for (const Words& words : {Words{"-n", "2", "--ranks", "3:4", "app"},
                             {"--ranks", "2", "-n", "3:4", "app"},
                             {"-n", "2", "-n", "3:4", "app"}}) {
    const auto line = parse(words);
    EXPECT_EQ(line.exit_code, kUnusable);
    EXPECT_EQ(line.text,
              "ckpt-run: the number of ranks is given as 2 and as 3:4: leave out one of the options -n and --ranks\n");
  }
}

TEST(Options, refuse_what_cannot_be) {
  for (const Words& words : {Words{"-n", "4"},
                             {"-n", "0", "app"},
                             {"-n", "4:", "app"},
                             {"-n", ":4", "app"},
                             {"-n", "5:4", "app"},
                             {"-n", "0:4", "app"},
                             {"-n", "1:2:3", "app"},
                             {"-n", "16777217", "app"},
                             {"app"},
                             {"-n", "4", "--hots", "a", "--", "app"},
                             {"-n", "4", "--hots", "a"},
                             {"-n", "4", "--hosts", "a,a", "app"},
                             {"-n", "4", "--hosts", "a:2", "app"},
                             {"-n", "4", "--hosts", "a", "--spare-hosts", "a", "app"},
                             {"-n", "4", "--grace", "5", "app"},
                             {"-n", "4", "--mpi-options", "--hostfile h", "app"},
                             {"-n", "4", "--mpi-options", "--nodelist=a,b", "app"},
                             {"-n", "4", "--spare-hosts", "s", "app"}}) {
    const auto line = parse(words);
    EXPECT_FALSE(line.options) << fmt::format("{}", fmt::join(words, " "));
    EXPECT_EQ(line.exit_code, kUnusable);
    EXPECT_THAT(line.text, StartsWith("ckpt-run: "));
  }
}

TEST(Agent, is_ssh_or_in_a_slurm_job_srun_or_what_the_user_says) {
  Facts facts;
  EXPECT_EQ(fmt::format("{}", fmt::join(on_host(choose_agent(Options{}, facts, "j"), "b", "a; b"), "|")),
            "ssh|-o|BatchMode=yes|-o|ConnectTimeout=5|b|a; b");
  facts.batch_hosts = {"a", "b"};
  EXPECT_EQ(fmt::format("{}", fmt::join(on_host(choose_agent(Options{}, facts, "j"), "b", "a; b"), "|")),
            "srun|--job-name=j|--overlap|-N1|-n1|-w|b|sh|-c|a; b");
  facts.hosts_from_file = true;  // by another batch system
  EXPECT_EQ(choose_agent(Options{}, facts, "j").argv.front(), "ssh");
  EXPECT_EQ(
      fmt::format("{}", fmt::join(on_host(choose_agent(options_of({"--agent", "rsh -q"}), facts, "j"), "b", "c"), "|")),
      "rsh|-q|b|c");
}

TEST(Agent, knows_the_job_in_the_name_of_a_segment_and_nothing_else) {
  EXPECT_EQ(segment_key("vader_segment.node1.org.1000.3ef60001.12"), "1000.3ef60001");
  EXPECT_EQ(segment_key("sm_segment.vm.0.7a.3"), "0.7a");
  for (const char* other : {"vader_segment", "vader_segment.", "sm_segment.1", "sm_segment..", "sm_segment.a..",
                            "rough", "psm_segment.vm.0.7a.3", ""})
    EXPECT_EQ(segment_key(other), "") << other;
}

TEST(Agent, that_hears_no_host_says_nothing_of_ranks) {
  EXPECT_TRUE(may_have_ranks({3, 0, 255}));
  EXPECT_FALSE(may_have_ranks({3, 255, 137}));
  EXPECT_TRUE(may_have_ranks({255, 127}));
}

int run(const std::string& command) {
  return run_for_output({"sh", "-c", command}, std::chrono::seconds(20)).value().code;
}

using Variables = std::map<std::string, std::string>;

// A process that sleeps, with these variables; killed with it.
class Sleeper {
 public:
  explicit Sleeper(const Variables& environment) : pid_(start({"sleep", "60"}, {.environment = environment}).value()) {}
  ~Sleeper() { (void)end(SIGKILL); }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  // Its code, after a signal if one is named; none if it does not end.
  std::optional<int> end(int number = 0) {
    if (number != 0) ::kill(pid_, number);
    for (int i = 0; i < 1000 && !code_; ++i) {
      code_ = reap(pid_);
      if (!code_) (void)run("sleep 0.01");
    }
    return code_;
  }

 private:
  pid_t pid_;
  std::optional<int> code_;
};

TEST(Agent, finds_ranks_and_not_the_daemons_of_launchers) {
  EXPECT_EQ(run(find_ranks_command("nobody-1-00000000", LauncherKind::open_mpi)), 3);
  const Sleeper daemon(Variables{{"CKPT_RUN_JOB", "test-find"}});
  const Sleeper of_another_job(Variables{{"CKPT_RUN_JOB", "test-find-2"}, {"PMIX_RANK", "1"}});
  EXPECT_EQ(run(find_ranks_command("test-find", LauncherKind::open_mpi)), 3);
  const Sleeper task(
      {{"CKPT_RUN_JOB", "test-find"}, {"SLURM_PROCID", "1"}});  // srun has started a daemon thus, or a rank
  EXPECT_EQ(run(find_ranks_command("test-find", LauncherKind::open_mpi)), 3);
  EXPECT_EQ(run(find_ranks_command("test-find", LauncherKind::slurm)), 0);
  const Sleeper rank(Variables{{"CKPT_RUN_JOB", "test-find"}, {"PMIX_RANK", "1"}});
  EXPECT_EQ(run(find_ranks_command("test-find", LauncherKind::open_mpi)), 0);
}

TEST(Agent, cleans_only_what_is_of_the_job) {
  // Nothing on this machine has this name in its environment.
  EXPECT_EQ(run(clean_command("nobody-1-00000000", {"99999.ffffffff"})), 0);
  Sleeper sleeper(Variables{{"CKPT_RUN_JOB", "test-clean"}});
  EXPECT_EQ(run(clean_command("test-clean", {})), 0);
  EXPECT_EQ(sleeper.end(), 128 + SIGKILL);
}

TEST(Process, that_cannot_be_run_is_named) {
  EXPECT_THAT(start({"/no/such/program"}),
              Fails(cairn::Code::not_found, {"/no/such/program", "No such file or directory"}));
}

TEST(Process, that_takes_too_long_is_killed) {
  const auto ending = run_for_output({"sh", "-c", "echo so far; sleep 60"}, std::chrono::milliseconds(300)).value();
  EXPECT_EQ(ending.code, 128 + SIGKILL);
  EXPECT_EQ(ending.out, "so far\n");
  EXPECT_THAT(
      run_all({{"sleep", "60"}, {"true"}, {"false"}, {"/no/such"}}, std::chrono::seconds(1), [] { return false; }),
      ElementsAre(128 + SIGKILL, 0, 1, 127));
}

TEST(Process, that_is_not_below_this_one_is_found_by_its_environment) {
  // Its parent is gone, and nobody here adopts it.
  const auto out =
      run_for_output({"sh", "-c", "SOME_JOB=stray-1 sleep 60 >/dev/null & echo $!"}, std::chrono::seconds(5));
  const auto stray = static_cast<pid_t>(std::stoi(out.value().out));
  EXPECT_THAT(descendants(), Not(testing::Contains(stray)));
  for (int i = 0; i < 1000 && processes_with("SOME_JOB", "stray-1").empty(); ++i)
    (void)run_for_output({"true"}, std::chrono::seconds(5));
  EXPECT_THAT(processes_with("SOME_JOB", "stray-1"), ElementsAre(stray));
  ::kill(stray, SIGKILL);
}

TEST(Process, is_found_below_this_one_with_its_environment) {
  const auto pid = start({"sleep", "60"}, {.environment = {{"SOME_NAME", "a=b"}}}).value();
  EXPECT_THAT(descendants(), testing::Contains(pid));
  EXPECT_EQ(variable_of(pid, "SOME_NAME"), "a=b");
  EXPECT_EQ(variable_of(pid, "SOME"), std::nullopt);
  ::kill(pid, SIGKILL);
  while (!reap(pid)) (void)run_for_output({"true"}, std::chrono::seconds(5));
  EXPECT_THAT(descendants(), IsEmpty());
}

}  // namespace
}  // namespace ckpt_run
