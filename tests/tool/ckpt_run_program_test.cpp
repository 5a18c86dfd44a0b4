// Whether this host can run the program that ckpt-run is to start.
#include "program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/facts.hpp"
#include "support/temp_directory.hpp"

namespace ckpt_run {
namespace {

namespace fs = std::filesystem;
using cairn::test::Names;

class ProgramToRun : public testing::Test {
 protected:
  [[nodiscard]] std::string file(const std::string& name, const std::string& text, fs::perms mode) const {
    const std::string path = directory_.path() + "/" + name;
    std::ofstream(path) << text;
    fs::permissions(path, mode);
    return path;
  }
  [[nodiscard]] static std::string why(const std::string& program, const std::vector<std::string>& mpi_options = {}) {
    Options options;
    options.application = {program, "argument"};
    options.mpi_options = mpi_options;
    return why_not_run(options).value_or(std::string());
  }

  cairn::test::TempDirectory directory_{"/tmp"};
};

TEST_F(ProgramToRun, is_found_by_path_and_by_name) {
  const std::string script = file("script", "#!/bin/sh\nexit 0\n", fs::perms::owner_all);
  for (const std::string& program : {std::string("sh"), std::string("/bin/sh"), script}) EXPECT_EQ(why(program), "");
  // Launchers also look for a name in the working directory.
  const fs::path before = fs::current_path();
  fs::current_path(directory_.path());
  EXPECT_EQ(why("script"), "");
  EXPECT_EQ(why("./script"), "");
  fs::current_path(before);
}

TEST_F(ProgramToRun, gets_the_tap_preloaded_if_python_runs_it_or_if_that_is_wanted) {
  const auto preload = [](const std::string& program, bool wanted) {
    Options options;
    options.application = {program, "heat.py"};
    options.preload_tap = wanted;
    return preload_of(options);
  };
  const std::string by_name = file("a.py", "#!/usr/bin/env python3\n", fs::perms::owner_all);
  const std::string by_path = file("b.py", "#!/usr/bin/python3.11 -u\n", fs::perms::owner_all);
  const std::string shell = file("c", "#!/bin/sh\necho python3\n", fs::perms::owner_all);
  for (const std::string& program : {std::string("python3"), std::string("/opt/bin/python3.13"), by_name, by_path})
    EXPECT_THAT(preload(program, false), testing::HasSubstr("libcairn-tap.so")) << program;
  for (const std::string& program : {shell, std::string("sh"), std::string("./nothing")}) {
    EXPECT_EQ(preload(program, false), "") << program;
    EXPECT_THAT(preload(program, true), testing::HasSubstr("libcairn-tap.so")) << program;
  }
  ::setenv("LD_PRELOAD", "/usr/lib/mine.so", 1);
  EXPECT_TRUE(preload("python3", false).ends_with(":/usr/lib/mine.so"));
  ::unsetenv("LD_PRELOAD");
}

TEST_F(ProgramToRun, that_cannot_be_run_is_named_with_the_reason) {
  EXPECT_THAT(why("./heta"), Names({"./heta", "No such file or directory"}));
  EXPECT_THAT(why("heta"), Names({"heta", "PATH"}));
  EXPECT_THAT(why(directory_.path()), Names({directory_.path(), "Is a directory"}));
  const std::string data = file("data", "text", fs::perms::owner_read);
  EXPECT_THAT(why(data), Names({data, "Permission denied"}));
  const std::string script = file("script", "#!/no/such/shell -e\n", fs::perms::owner_all);
  EXPECT_THAT(why(script), Names({script, "/no/such/shell", "No such file or directory"}));
}

TEST_F(ProgramToRun, is_not_judged_where_the_launcher_looks_elsewhere) {
  for (const char* option : {"--wdir", "-wdir", "--path", "--chdir=/elsewhere", "PATH=/elsewhere", "-D"})
    EXPECT_EQ(why("heta", {"--mca", "btl", "self", option}), "");
}

}  // namespace
}  // namespace ckpt_run
