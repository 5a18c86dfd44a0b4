// bench-limits: what this machine can do at most, with as many processes as the job has application ranks. Of Cairn it
// uses only the calls of ISA-L and OpenSSL. All rates are bytes per second of all processes together.
// Nothing is displaced from the caches in between: what other figures are divided by is measured beside them.
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/sha256.hpp"
#include "codec/crc32c.hpp"
#include "codec/reed_solomon.hpp"
#include "common.hpp"
#include "memory.hpp"
#include "store/posix/posix_file.hpp"
#include "store/posix/posix_mapping.hpp"

namespace {

struct Options {
  bench::Setting setting;
  std::uint64_t bytes = 64 * cairn::kMiB;
  int repetitions = 9;
  std::string node_store;
  std::string global_store;
};

// One repetition of one limit.
struct Limit {
  std::string name;
  std::function<bench::Span()> time;
};

class Meter {
 public:
  explicit Meter(const Options& options)
      : options_(options),
        ranks_(MPI_COMM_WORLD),
        buffers_(options.bytes),
        node_file_(options.node_store + "/limit" + std::to_string(ranks_.rank())),
        global_file_(options.global_store + "/limit" + std::to_string(ranks_.rank())) {}

  void measure() {
    const auto limits = all();
    std::vector<std::vector<bench::Span>> spans(limits.size());
    // The first round warms up. Limits take turns, so that a slow minute of the machine hits all of them.
    for (int round = 0; round <= options_.repetitions; ++round) {
      for (std::size_t i = 0; i < limits.size(); ++i) {
        const bench::Span span = limits[i].time();
        if (round > 0) spans[i].push_back(span);
      }
    }
    const bench::Records records(options_.setting, ranks_.rank() == 0);
    for (std::size_t i = 0; i < limits.size(); ++i) {
      bench::Values rates = ranks_.together(spans[i]);
      for (double& value : rates) value = static_cast<double>(options_.bytes * ranks_.size()) / value;
      records.add({.group = "limits",
                   .name = limits[i].name,
                   .values = rates,
                   .unit = "bytes/s",
                   .facts = {{"bytes_per_rank", static_cast<double>(options_.bytes)},
                             {"ranks", static_cast<double>(ranks_.size())}}});
    }
  }

 private:
  std::vector<Limit> all() {
    using bench::Who;
    const auto each = [this](Who who, void (Meter::*step)()) {
      return bench::time_step(ranks_, who, [=, this] { (this->*step)(); });
    };
    std::vector<Limit> limits;
    const auto add = [&](const std::string& what, void (Meter::*step)()) {
      limits.push_back({what + ", 1 core", [=] { return each(Who::one, step); }});
      limits.push_back({what + ", all ranks", [=] { return each(Who::all, step); }});
    };
    limits.push_back({"copy, 1 core", [this] { return bench::time_copy(ranks_, buffers_, Who::one); }});
    limits.push_back({"copy, all ranks", [this] { return bench::time_copy(ranks_, buffers_, Who::all); }});
    add("copy with CRC-32C", &Meter::copy_crc);
    add("SHA-256", &Meter::hash);
    add("encode, 2 + 2", &Meter::encode);
    limits.push_back(
        {"node store, new file, all ranks", [this] { return time_file(node_file_, bench::Write::fresh); }});
    limits.push_back({"node store, overwrite, all ranks", [this] { return time_overwrite(); }});
    limits.push_back({"node store, warm mapping, all ranks", [this] { return time_mapping(); }});
    limits.push_back({"global store, new file, synced, all ranks",
                      [this] { return time_file(global_file_, bench::Write::fresh_synced); }});
    return limits;
  }

  // In pieces that stay in the cache of a core in between.
  void copy_crc() {
    constexpr std::size_t kPiece = 16 * cairn::kKiB;
    const cairn::Bytes from = buffers_.source();
    const cairn::MutableBytes to = buffers_.target();
    std::uint32_t crc = 0;
    for (std::size_t at = 0; at < from.size(); at += kPiece) {
      const std::size_t count = std::min(kPiece, from.size() - at);
      cairn::copy_bytes(from.subspan(at, count), to.subspan(at, count));
      crc = cairn::crc32c(to.subspan(at, count), crc);
    }
    sink_ = sink_ + crc;
  }
  void hash() { sink_ = sink_ + static_cast<std::uint32_t>(cairn::sha256(buffers_.source()).bytes[0]); }

  // Two data rows and two of parity, in slices, as a group of four nodes has them.
  void encode() {
    constexpr std::size_t kSlice = cairn::kMiB;
    const auto data = cairn::Bytes(buffers_.source());
    const std::size_t row = data.size() / 2;
    for (std::size_t at = 0; at < row; at += kSlice) {
      const std::size_t count = std::min(kSlice, row - at);
      const std::array<cairn::Bytes, 2> inputs{data.subspan(at, count), data.subspan(row + at, count)};
      for (std::uint32_t p = 0; p < 2; ++p) code_[p].apply(inputs, buffers_.target().subspan(p * row + at, count));
    }
  }

  bench::Span time_file(const std::string& path, bench::Write how) {
    const bench::Span took =
        bench::time_step(ranks_, bench::Who::all, [&] { bench::write_file(path, buffers_.source(), how); });
    bench::remove_file(path);
    return took;
  }

  bench::Span time_overwrite() {
    bench::write_file(node_file_, buffers_.source(), bench::Write::fresh);
    return time_file(node_file_, bench::Write::over);
  }

  bench::Span time_mapping() {
    bench::write_file(node_file_, buffers_.source(), bench::Write::fresh);
    auto file = cairn::posix::open_file(AT_FDCWD, node_file_, O_RDWR, node_file_);
    if (!file) throw std::runtime_error(file.error().text());
    auto mapping =
        cairn::posix::Mapping::map(file->get(), options_.bytes, cairn::posix::Mapping::Access::write, node_file_);
    if (!mapping) throw std::runtime_error(mapping.error().text());
    const auto copy = [&] { std::ranges::copy(buffers_.source(), (*mapping)->bytes().begin()); };
    copy();
    const bench::Span took = bench::time_step(ranks_, bench::Who::all, copy);
    bench::remove_file(node_file_);
    return took;
  }

  static std::array<cairn::Combination, 2> code() {
    const auto made = cairn::ReedSolomon::create(2, 2);
    if (!made) throw std::runtime_error(made.error().text());
    return {made->encode_row(0), made->encode_row(1)};
  }

  const Options& options_;
  bench::Ranks ranks_;
  bench::Buffers buffers_;
  std::string node_file_;
  std::string global_file_;
  std::array<cairn::Combination, 2> code_ = code();
  volatile std::uint32_t sink_ = 0;  // keeps the compiler from removing the work
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Measures what copies, checksums, codes and file systems can do at most.", "bench-limits"};
  bench::add_options(app, options.setting);
  app.add_option("--bytes", options.bytes, "Bytes of each rank")->check(CLI::Range(1024UL, 1UL << 40));
  app.add_option("--repetitions", options.repetitions, "Timed repetitions")->check(CLI::PositiveNumber);
  app.add_option("--node-store", options.node_store, "Directory on the node stores' file system")->required();
  app.add_option("--global-store", options.global_store, "Directory on the global store's file system")->required();
  return bench::run(argc, argv, app, options.setting, [&] { Meter(options).measure(); });
}
