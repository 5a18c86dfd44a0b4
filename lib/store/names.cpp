#include "store/names.hpp"

#include <charconv>

#include <fmt/format.h>

namespace cairn::names {

namespace {

constexpr std::size_t kRunDigits = 16;
constexpr std::size_t kLayoutDigits = 8;

// Reads a name from left to right; turns bad at the first part that is not as expected, and stays bad. Every parser
// then builds the name again and compares, so that one thing has only one name.
class Scan {
 public:
  explicit Scan(std::string_view name) : rest_(name) {}

  Scan& text(std::string_view wanted) {
    if (good_ && rest_.starts_with(wanted)) {
      rest_.remove_prefix(wanted.size());
    } else {
      good_ = false;
    }
    return *this;
  }
  Scan& number(std::uint32_t& into) { return digits(into, rest_.substr(0, rest_.find_first_not_of(kDecimal)), 10); }
  Scan& hex(std::uint64_t& into) { return digits(into, rest_.substr(0, kRunDigits), 16); }
  Scan& hex(std::uint32_t& into) { return digits(into, rest_.substr(0, kLayoutDigits), 16); }
  [[nodiscard]] bool at_end() const { return good_ && rest_.empty(); }
  [[nodiscard]] bool more() const { return good_ && !rest_.empty(); }

 private:
  static constexpr std::string_view kDecimal = "0123456789";

  template <class Number>
  Scan& digits(Number& into, std::string_view from, int base) {
    const char* const end = from.data() + from.size();
    const auto [stop, error] = std::from_chars(from.data(), end, into, base);
    good_ = good_ && error == std::errc() && stop == end;
    if (good_) rest_.remove_prefix(from.size());
    return *this;
  }

  std::string_view rest_;
  bool good_ = true;
};

// "dir/file"; an empty directory is the top.
FileName inside(const DirName& dir, std::string_view file) {
  return FileName{dir.path.empty() ? std::string(file) : fmt::format("{}/{}", dir.path, file)};
}

}  // namespace

DirName snapshot(Version version, RunId run) { return DirName{fmt::format("v{:08}-{}", version.value, hex(run))}; }

DirName partial_snapshot(Version version, RunId run) { return DirName{snapshot(version, run).path + ".partial"}; }

std::optional<SnapshotDir> parse_snapshot(std::string_view name) {
  SnapshotDir dir;
  Scan scan(name);
  scan.text("v").number(dir.version.value).text("-").hex(dir.run.value);
  dir.partial = scan.more();
  if (directory_of(dir).path != name || dir.version.value > kLastNumber) return std::nullopt;
  return dir;
}

DirName directory_of(const SnapshotDir& dir) {
  return dir.partial ? partial_snapshot(dir.version, dir.run) : snapshot(dir.version, dir.run);
}

std::vector<SnapshotDir> snapshots_in(const std::vector<Entry>& entries) {
  std::vector<SnapshotDir> snapshots;
  for (const Entry& entry : entries) {
    const auto dir = parse_snapshot(entry.name);
    if (dir && entry.directory) snapshots.push_back(*dir);
  }
  return snapshots;
}

FileName shard(const DirName& dir, Rank rank) { return inside(dir, fmt::format("rank{:06}.shard", rank.value)); }

std::optional<Rank> parse_shard(std::string_view name) {
  Rank rank;
  const bool good = Scan(name).text("rank").number(rank.value).text(".shard").at_end();
  if (!good || shard({}, rank).path != name) return std::nullopt;
  return rank;
}

FileName copy(const DirName& dir, const Copy& copy) {
  return inside(dir, fmt::format("node{:04}.rank{:06}.{}.copy", copy.owner.value, copy.rank.value, hex(copy.layout)));
}

std::optional<Copy> parse_copy(std::string_view name) {
  Copy parsed{};
  Scan scan(name);
  scan.text("node").number(parsed.owner.value).text(".rank").number(parsed.rank.value).text(".");
  scan.hex(parsed.layout.value).text(".copy");
  if (!scan.at_end() || copy({}, parsed).path != name) return std::nullopt;
  return parsed;
}

FileName parity(const DirName& dir, const Parity& parity) {
  return inside(dir, fmt::format("parity.c{:02}.p{}.{}", parity.column, parity.row, hex(parity.layout)));
}

std::optional<Parity> parse_parity(std::string_view name) {
  Parity parsed{};
  Scan scan(name);
  scan.text("parity.c").number(parsed.column).text(".p").number(parsed.row).text(".").hex(parsed.layout.value);
  if (!scan.at_end() || parity({}, parsed).path != name) return std::nullopt;
  return parsed;
}

FileName manifest(const DirName& dir) { return inside(dir, "manifest.json"); }
FileName node_file(const DirName& dir, NodeId node) { return inside(dir, fmt::format("node{:04}.h5", node.value)); }
FileName master_file(const DirName& dir) { return inside(dir, "checkpoint.h5"); }

FileName run_record(Incarnation incarnation, RunId run) {
  return FileName{fmt::format("run-{:08}-{}.json", incarnation.value, hex(run))};
}

std::optional<RunRecordName> parse_run_record(std::string_view name) {
  RunRecordName record;
  Scan scan(name);
  scan.text("run-").number(record.incarnation.value).text("-").hex(record.run.value).text(".json");
  if (!scan.at_end() || run_record(record.incarnation, record.run).path != name) return std::nullopt;
  if (record.incarnation.value > kLastNumber) return std::nullopt;
  return record;
}

FileName pins() { return FileName{"pins.json"}; }
FileName token() { return FileName{"token"}; }
FileName chain_mark() { return FileName{"chain.json"}; }
DirName brought() { return DirName{"brought"}; }

DirName files(Rank rank) { return DirName{fmt::format("files.rank{:06}", rank.value)}; }

std::optional<Rank> parse_files(std::string_view name) {
  Rank rank;
  const bool good = Scan(name).text("files.rank").number(rank.value).at_end();
  if (!good || files(rank).path != name) return std::nullopt;
  return rank;
}

DirName calls() { return DirName{"calls"}; }
FileName calls(Rank rank) { return inside(calls(), fmt::format("rank{:06}.calls", rank.value)); }

std::optional<Rank> parse_calls(std::string_view name) {
  Rank rank;
  const bool good = Scan(name).text("rank").number(rank.value).text(".calls").at_end();
  if (!good || calls(rank).path != calls().path + "/" + std::string(name)) return std::nullopt;
  return rank;
}

DirName choices() { return DirName{"choices"}; }
FileName choices(Rank rank) { return inside(choices(), fmt::format("rank{:06}.choices", rank.value)); }

FileName spill(Rank rank) { return FileName{fmt::format("rank{:06}.spill", rank.value)}; }

FileName costs() { return FileName{"costs.json"}; }
FileName health() { return FileName{"health.json"}; }
FileName watch() { return FileName{"watch.json"}; }
FileName health_of(Incarnation life) { return FileName{fmt::format("health-{:08}.json", life.value)}; }

bool is_health_of_a_run(std::string_view name) {
  Incarnation life;
  return Scan(name).text("health-").number(life.value).text(".json").at_end() && health_of(life).path == name;
}

FileName symptoms() { return FileName{"symptoms.json"}; }

FileName suspicion(std::uint64_t number) { return FileName{fmt::format("suspicion-{:016x}.json", number)}; }

bool is_suspicion(std::string_view name) {
  std::uint64_t number = 0;
  return Scan(name).text("suspicion-").hex(number).text(".json").at_end() && suspicion(number).path == name;
}

std::string owner_rank(Rank rank) { return fmt::format("rank{:06}", rank.value); }
std::string owner_head() { return "head"; }

std::string node_directory(NodeId node) { return fmt::format("node{:04}", node.value); }

std::string hex(RunId run) { return fmt::format("{:016x}", run.value); }

std::optional<RunId> parse_run(std::string_view text) {
  RunId run;
  if (!Scan(text).hex(run.value).at_end() || hex(run) != text) return std::nullopt;
  return run;
}

std::string hex(LayoutId layout) { return fmt::format("{:08x}", layout.value); }

}  // namespace cairn::names
