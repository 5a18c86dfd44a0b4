// The file with a job's key: only one that nobody else may know is taken.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/key_file.hpp"
#include "support/key_file.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string complaint(const std::string& path) {
  const auto key = read_key_file(path);
  if (key) return "taken";
  EXPECT_EQ(key.error().code, Code::config);
  return key.error().text();
}

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
    EXPECT_THAT(complaint(file.path()), AllOf(HasSubstr(file.path() + ": is open to others (mode "),
                                              HasSubstr("should be mode 600"), HasSubstr("chmod 600")));
  }
  for (const mode_t mode : {0600U, 0400U}) {
    ASSERT_EQ(::chmod(file.path().c_str(), mode), 0);
    EXPECT_EQ(complaint(file.path()), "taken");
  }
}

TEST(KeyFile, of_another_user_is_refused) {
  constexpr uid_t kSomebody = 12345;
  const test::KeyFile file("the key");
  ASSERT_EQ(::chown(file.path().c_str(), kSomebody, kSomebody), 0) << "this test must run as root";
  EXPECT_THAT(complaint(file.path()), HasSubstr(file.path() + ": belongs to user 12345, should belong to user 0"));
}

TEST(KeyFile, that_is_no_regular_file_of_its_own_is_refused) {
  const test::KeyFile file("the key");
  const test::TempDirectory place("/tmp");
  const std::string name = place.path() + "/key";
  EXPECT_THAT(complaint(name), AllOf(HasSubstr(name), HasSubstr("No such file"), HasSubstr("/dev/urandom")));
  fs::create_symlink(file.path(), name);
  EXPECT_THAT(complaint(name), AllOf(HasSubstr(name), HasSubstr("symbolic links are not followed")));
  fs::remove(name);
  fs::create_directory(name);
  EXPECT_THAT(complaint(name), AllOf(HasSubstr(name), HasSubstr("should be a file")));
  fs::remove(name);
  ASSERT_EQ(::mkfifo(name.c_str(), 0600), 0);
  EXPECT_THAT(complaint(name), AllOf(HasSubstr(name), HasSubstr("should be a regular file")));
  EXPECT_THAT(complaint("/dev/urandom"), HasSubstr("should be a regular file"));
}

TEST(KeyFile, with_no_key_in_it_is_refused_and_not_shown) {
  const test::KeyFile file("the key");
  const auto with = [&](const std::string& text) {
    std::ofstream(file.path(), std::ios::binary | std::ios::trunc) << text;
    return complaint(file.path());
  };
  EXPECT_THAT(with(""), HasSubstr("0 bytes long, should be 32 to 4096"));
  EXPECT_THAT(with("letmein"), AllOf(HasSubstr("7 bytes long"), HasSubstr("/dev/urandom"), Not(HasSubstr("letmein"))));
  EXPECT_THAT(with(std::string(32, '\0')), HasSubstr("all its bytes are the same"));
  EXPECT_THAT(with(std::string(4000, 'x') + std::string(97, 'y')),
              HasSubstr("4097 bytes long, should be at most 4096"));
  EXPECT_EQ(with(std::string(4000, 'x') + std::string(96, 'y')), "taken");
  EXPECT_EQ(with(std::string(16, 'x') + std::string(16, 'y')), "taken");
}

}  // namespace
}  // namespace cairn
