// What libFuzzer calls. `fuzz --target=NAME` and libFuzzer's own options; tools/fuzz.sh gives them. `--list` prints the
// targets, and `--seeds=DIRECTORY` writes the seeds of one there.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>

#include "fuzz/target.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

using cairn::Bytes;
using cairn::fuzz::Target;

const Target* chosen = nullptr;  // once, before the first input

// libFuzzer leaves options alone that begin with two dashes, and hands them to processes that it starts.
std::optional<std::string> option(int argc, char** argv, const std::string& name) {
  char** const end = argv + argc;
  char** const found = std::find_if(argv, end, [&](std::string_view word) { return word.starts_with(name); });
  if (found == end) return {};
  return std::string(*found).substr(name.size());
}

void write_seeds(const Target& target, const std::string& directory) {
  int number = 0;
  for (const cairn::Buffer& seed : target.seeds()) {
    std::ofstream(directory + "/seed" + std::to_string(number++), std::ios::binary) << cairn::text_of(seed);
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  if (option(*argc, *argv, "--list")) {
    for (const Target& target : cairn::fuzz::targets()) std::puts(std::string(target.name).c_str());
    std::exit(EXIT_SUCCESS);
  }
  chosen = cairn::fuzz::find_target(option(*argc, *argv, "--target=").value_or(""));
  if (chosen == nullptr) {
    std::fputs("fuzz: --target=NAME; --list says which there are\n", stderr);
    std::exit(2);
  }
  const auto seeds = option(*argc, *argv, "--seeds=");
  if (!seeds) return 0;
  write_seeds(*chosen, *seeds);
  std::exit(EXIT_SUCCESS);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    (void)chosen->run(std::as_bytes(std::span(data, size)));
  } catch (const cairn::fuzz::Broken& broken) {
    std::fprintf(stderr, "broken promise: %s\n", broken.what());
    std::abort();
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  if (chosen->mutate == cairn::fuzz::mutate_bytes || seed % 4 == 0) return LLVMFuzzerMutate(data, size, most);
  cairn::fuzz::Random random(seed);
  const Bytes input = std::as_bytes(std::span(data, size));
  const cairn::Buffer output = chosen->mutate({input.begin(), input.end()}, random);
  const std::size_t length = std::min(output.size(), most);
  if (length > 0) std::memcpy(data, output.data(), length);
  return length;
}
