// What runs of ckpt-run leave below the global store's root, and who removes it.
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job_files.hpp"
#include "support/facts.hpp"
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

TEST(JobFiles, have_their_full_length_before_a_life_starts_and_say_nothing) {
  const cairn::test::TempDirectory directory("/tmp");
  cairn::Config config;
  config.storage.global = directory.path() + "/global";
  const auto files = JobFiles::make(config, "here", "test").value();
  const std::string session = cairn::mark_of_session(files->mark_path(), cairn::session_name(config));
  ASSERT_TRUE(cairn::write_mark(session, {cairn::CompletionMark::Kind::finished, {}}));
  ASSERT_TRUE(cairn::write_mark(files->mark_path() + ".00000000", {cairn::CompletionMark::Kind::opened, {}}));
  // Somebody may have removed the directory since the last life.
  for (const bool removed : {false, true}) {
    if (removed) fs::remove_all(config.storage.global);
    ASSERT_TRUE(files->clear_marks());
    EXPECT_EQ(cairn::summary_of(files->marks()).kind, cairn::CompletionMark::Kind::none);
    for (const std::string& path : {files->mark_path(), session})
      EXPECT_EQ(fs::file_size(path), cairn::kMarkBytes) << path;
  }
}

TEST(JobFiles, that_cannot_be_written_are_named_with_the_reason) {
  const cairn::test::TempDirectory directory("/tmp");
  cairn::Config config;
  config.storage.global = directory.path() + "/global";
  const auto files = JobFiles::make(config, "here", "test").value();
  fs::remove_all(config.storage.global);
  std::ofstream(config.storage.global) << "a file\n";
  const auto status = files->clear_marks();
  EXPECT_THAT(status, cairn::test::Fails(cairn::Code::io, {config.storage.global, "Not a directory"}));
}

// Nobody can make a file in /sys, root included.
TEST(JobFiles, in_a_place_that_is_only_read_name_its_key) {
  cairn::Config config;
  config.storage.global = "/sys";
  const auto files = JobFiles::make(config, "here", "test");
  EXPECT_THAT(files, cairn::test::Fails(cairn::Code::io, {"[storage] global = /sys", "cannot be written"}));
}

}  // namespace
}  // namespace ckpt_run
