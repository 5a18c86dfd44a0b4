// A file of more than 4 GiB goes into a snapshot and comes back. It takes three times as much room in /tmp.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/posix/posix_store.hpp"
#include "support/job.hpp"
#include "support/temp_directory.hpp"

namespace cairn::test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kBytes = (std::uint64_t{1} << 32U) + 5 * kMiB + 3;
constexpr const char* kLargeSettings =
    "[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = off\n[restart]\nat_end = continue\n";

// Where the file has text; all else are zeros.
std::vector<std::uint64_t> places() {
  std::vector<std::uint64_t> places;
  for (std::uint64_t at = 7; at < kBytes - 100; at += 61 * kMiB) places.push_back(at);
  const std::uint64_t four_gib = std::uint64_t{1} << 32U;
  places.insert(places.end(), {four_gib - 10, four_gib + 4096, kBytes - 20});
  return places;
}

std::string text_at(std::uint64_t place) {
  std::string text = std::to_string(place);
  text.resize(20, '.');
  return text;
}

class LargeFile : public testing::Test {
 protected:
  void fill() const {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    ASSERT_GE(file, 0);
    ASSERT_EQ(::ftruncate(file, static_cast<off_t>(kBytes)), 0);
    for (const std::uint64_t place : places())
      ASSERT_EQ(::pwrite(file, text_at(place).data(), 20, static_cast<off_t>(place)), 20);
    ::close(file);
  }
  void expect_as_it_was() const {
    ASSERT_EQ(fs::file_size(path), kBytes);
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    for (const std::uint64_t place : places()) {
      std::string found(20, ' ');
      EXPECT_EQ(::pread(file, found.data(), 20, static_cast<off_t>(place)), 20);
      EXPECT_EQ(found, text_at(place));
    }
    ::close(file);
  }

  TempDirectory directory{"/tmp"};
  std::string path = directory.path() + "/large";
};

TEST_F(LargeFile, of_more_than_four_gibibytes_comes_back) {
  Job job({1}, kLargeSettings);
  job.wrap_node = [this](std::uint32_t, const std::shared_ptr<Store>&) {
    return PosixStore::open(directory.path() + "/node", "heat").value();
  };
  fill();
  job.run_well_and_die([&](JobSession& session) {
    session.protect_file("large", path);
    session.restore();
    session.snapshot();
    session.wait(LevelId::local);
  });
  fs::resize_file(path, 1000);
  for (const bool is_missing : {false, true}) {
    if (is_missing) fs::remove(path);
    job.run_well_and_die([&](JobSession& session) {
      session.protect_file("large", path);
      EXPECT_TRUE(session.restore().restored);
    });
    expect_as_it_was();
  }
}

}  // namespace
}  // namespace cairn::test
