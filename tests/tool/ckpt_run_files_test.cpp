// What runs of ckpt-run leave below the global store's root, and who removes it.
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "job_files.hpp"
#include "support/temp_directory.hpp"

namespace ckpt_run {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kAnother = 12345;

// Of a process that has ended.
pid_t dead_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  return child;
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << text << " has no " << from;
  return text.replace(at, from.size(), to);
}

TEST(JobFiles, of_a_killed_run_go_when_another_begins_in_its_place_and_all_others_stay) {
  const cairn::test::TempDirectory directory("/tmp");
  cairn::Config config;
  config.storage.global = directory.path();
  const auto make = [&](const std::string& name) {
    const fs::path path = fs::path(directory.path()) / (".ckpt-run-" + name);
    std::ofstream(path) << "opened\n";
    return path;
  };
  const std::string living = name_of_run("here");
  const std::string killed = changed(living, fmt::format("-{}-", ::getpid()), fmt::format("-{}-", dead_process()));
  const std::vector<fs::path> go{make(killed + ".mark"), make(killed + ".mark.0123abcd"), make(killed + ".hosts")};
  std::vector<fs::path> stay{make(living + ".mark"), make(changed(killed, "here-", "there-") + ".mark"),
                             make(changed(killed, "here-", "here-4") + ".mark"),  // of another PID namespace
                             make("here-1-0123abcd.mark"), make(killed + ".note")};
  if (::geteuid() == 0) {
    const std::string of_another = killed.substr(0, killed.size() - 8) + "0123abcd";
    stay.push_back(make(of_another + ".mark"));
    ASSERT_EQ(::chown(stay.back().c_str(), kAnother, kAnother), 0);
  }
  const auto files = JobFiles::make(config, "here", name_of_run("here"));
  ASSERT_TRUE(files) << files.error().text();
  for (const fs::path& file : go) EXPECT_FALSE(fs::exists(file)) << file;
  for (const fs::path& file : stay) EXPECT_TRUE(fs::exists(file)) << file;
}

}  // namespace
}  // namespace ckpt_run
