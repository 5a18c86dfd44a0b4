// By which path a program starts another process of itself.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "repair/command_line.hpp"
#include "support/temp_directory.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;

// A virtual environment of a Python is a link to it, beside other files.
class PathStartedAs : public testing::Test {
 protected:
  PathStartedAs() {
    fs::create_directories(at("usr"));
    fs::create_directories(at("venv"));
    fs::copy_file("/bin/true", at("usr/python3.11"));
    fs::create_symlink("python3.11", at("usr/python3"));
    fs::create_symlink(at("usr/python3"), at("venv/python3"));
  }
  [[nodiscard]] std::string at(const std::string& name) const { return directory_.path() + "/" + name; }
  [[nodiscard]] std::string started_as(const std::string& name) const {
    return path_started_as(name, "relative:" + at("none") + ":" + at("venv") + ":" + at("usr"), at("usr/python3.11"));
  }

 private:
  test::TempDirectory directory_{"/tmp"};
};

TEST_F(PathStartedAs, is_the_link_that_path_leads_to) { EXPECT_EQ(started_as("python3"), at("venv/python3")); }

TEST_F(PathStartedAs, is_the_link_that_was_named_by_its_path) {
  EXPECT_EQ(started_as(at("venv/python3")), at("venv/python3"));
  EXPECT_EQ(started_as(at("venv/../venv/python3")), at("venv/python3"));
}

TEST_F(PathStartedAs, is_the_file_where_the_name_leads_elsewhere_or_nowhere) {
  fs::copy_file("/bin/false", at("venv/other"));
  for (const std::string& name :
       {std::string("other"), std::string("absent"), std::string(), at("venv/other"), at("absent")})
    EXPECT_EQ(started_as(name), at("usr/python3.11")) << name;
}

TEST(ThisCommandLine, starts_this_program) {
  const CommandLine line = this_command_line();
  EXPECT_TRUE(fs::equivalent(line.program, "/proc/self/exe")) << line.program;
  EXPECT_EQ(line.directory, fs::current_path());
}

}  // namespace
}  // namespace cairn
