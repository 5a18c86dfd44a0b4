// The file with a job's key: only one that nobody else may know is taken.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "store/key_file.hpp"
#include "support/facts.hpp"
#include "support/key_file.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;
using test::Fails;
using testing::AllOf;
using testing::Not;

TEST(KeyFile, is_read_as_it_is) {
  const test::KeyFile file("the key");
  const auto key = read_key_file(file.path());
  ASSERT_TRUE(key) << key.error().text();
  const auto same = SecretKey::from(Buffer(bytes_of(file.key()).begin(), bytes_of(file.key()).end()));
  EXPECT_EQ(key->code_of({bytes_of("message")}), same->code_of({bytes_of("message")}));
}

TEST(KeyFile, that_others_may_read_or_write_is_refused) {
  const test::KeyFile file("the key");
  for (const mode_t mode : {0640U, 0604U, 0620U, 0602U, 0610U, 0601U, 0777U}) {
    ASSERT_EQ(::chmod(file.path().c_str(), mode), 0);
    EXPECT_THAT(read_key_file(file.path()),
                Fails(Code::config, {file.path(), fmt::format("mode {:o}", mode), "mode 600", "chmod 600"}));
  }
  for (const mode_t mode : {0600U, 0400U}) {
    ASSERT_EQ(::chmod(file.path().c_str(), mode), 0);
    EXPECT_TRUE(read_key_file(file.path()));
  }
}

TEST(KeyFile, of_another_user_is_refused) {
  constexpr uid_t kSomebody = 12345;
  const test::KeyFile file("the key");
  ASSERT_EQ(::chown(file.path().c_str(), kSomebody, kSomebody), 0) << "this test must run as root";
  EXPECT_THAT(read_key_file(file.path()), Fails(Code::config, {file.path(), "user 12345", "user 0"}));
}

TEST(KeyFile, that_is_no_regular_file_of_its_own_is_refused) {
  const test::KeyFile file("the key");
  const test::TempDirectory place("/tmp");
  const std::string name = place.path() + "/key";
  EXPECT_THAT(read_key_file(name),
              Fails(Code::config, {name, std::generic_category().message(ENOENT), "/dev/urandom"}));
  fs::create_symlink(file.path(), name);
  EXPECT_THAT(read_key_file(name), Fails(Code::config, {name}));
  fs::remove(name);
  fs::create_directory(name);
  EXPECT_THAT(read_key_file(name), Fails(Code::config, {name}));
  fs::remove(name);
  ASSERT_EQ(::mkfifo(name.c_str(), 0600), 0);
  EXPECT_THAT(read_key_file(name), Fails(Code::config, {name}));
  EXPECT_THAT(read_key_file("/dev/urandom"), Fails(Code::config, {"/dev/urandom"}));
}

TEST(KeyFile, with_no_key_in_it_is_refused_and_not_shown) {
  const test::KeyFile file("the key");
  const auto with = [&](const std::string& text) {
    std::ofstream(file.path(), std::ios::binary | std::ios::trunc) << text;
    return read_key_file(file.path());
  };
  EXPECT_THAT(with(""), Fails(Code::config, {file.path(), "0", "32", "4096"}));
  EXPECT_THAT(with("letmein"),
              AllOf(Fails(Code::config, {file.path(), "7", "/dev/urandom"}), Not(Fails(Code::config, {"letmein"}))));
  EXPECT_THAT(with(std::string(32, '\0')), Fails(Code::config, {file.path()}));
  EXPECT_THAT(with(std::string(4000, 'x') + std::string(97, 'y')), Fails(Code::config, {file.path(), "4097", "4096"}));
  EXPECT_TRUE(with(std::string(4000, 'x') + std::string(96, 'y')));
  EXPECT_TRUE(with(std::string(16, 'x') + std::string(16, 'y')));
}

}  // namespace
}  // namespace cairn
