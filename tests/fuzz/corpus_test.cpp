// Every target on what is kept of the fuzzer's finds, and on inputs changed in thousands of ways, the same in every
// run: what was found once stays mended, with any compiler.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "fuzz/target.hpp"

namespace cairn::fuzz {

// For messages of gtest, which finds it here.
void PrintTo(const Target& target, std::ostream* out);
void PrintTo(const Target& target, std::ostream* out) { *out << target.name; }

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kChanged = 1000;

std::vector<fs::path> corpus_of(const Target& target) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(CAIRN_CORPUS_DIR) / target.name))
    files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

Buffer bytes_in(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return buffer_of(std::string(std::istreambuf_iterator<char>(in), {}));
}

// Tools print what they were asked for.
class Quiet {
 public:
  Quiet() { testing::internal::CaptureStdout(); }
  ~Quiet() { (void)testing::internal::GetCapturedStdout(); }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;
};

class Fuzz : public testing::TestWithParam<Target> {
 protected:
  static bool run(const Buffer& input) {
    const Quiet quiet;
    return GetParam().run(input);
  }
};

TEST_P(Fuzz, takes_its_seeds) {
  for (const Buffer& seed : GetParam().seeds()) EXPECT_TRUE(run(seed));
}

TEST_P(Fuzz, keeps_its_promises_for_its_corpus) {
  const std::vector<fs::path> files = corpus_of(GetParam());
  EXPECT_FALSE(files.empty());
  for (const fs::path& file : files) {
    EXPECT_NO_THROW((void)run(bytes_in(file))) << file;
  }
}

TEST_P(Fuzz, keeps_its_promises_for_changed_inputs) {
  const std::vector<Buffer> seeds = GetParam().seeds();
  std::uint64_t accepted = 0;
  for (std::uint64_t number = 0; number < kChanged; ++number) {
    Random random(number);
    const Buffer changed = GetParam().mutate(seeds[number % seeds.size()], random);
    ASSERT_NO_THROW(accepted += run(changed) ? 1 : 0) << number;
  }
  // The changes do reach what is behind the first checks.
  EXPECT_GT(accepted, 0U);
}

INSTANTIATE_TEST_SUITE_P(All, Fuzz, testing::ValuesIn(targets().begin(), targets().end()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(FuzzCorpus, has_a_directory_for_every_target_and_no_other) {
  std::vector<std::string> directories;
  for (const auto& entry : fs::directory_iterator(CAIRN_CORPUS_DIR)) directories.push_back(entry.path().filename());
  std::vector<std::string> names;
  for (const Target& target : targets()) names.emplace_back(target.name);
  std::ranges::sort(directories);
  std::ranges::sort(names);
  EXPECT_EQ(directories, names);
}

}  // namespace
}  // namespace cairn::fuzz
