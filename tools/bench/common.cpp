#include "common.hpp"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "store/posix/posix_file.hpp"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;
using Nap = std::chrono::microseconds;
constexpr Nap kShortestNap{20};
constexpr Nap kLongestNap{500};
constexpr std::uint64_t kPieceBytes = 8 * cairn::kMiB;

nlohmann::json number_or_text(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size()) return number;
  return text;
}

void require(const cairn::Status& status) {
  if (!status) throw std::runtime_error(status.error().text());
}

}  // namespace

void add_options(CLI::App& app, Setting& setting) {
  app.add_option("--records", setting.records, "File to append the records to")->required();
  app.add_option("--tag", setting.tags, "NAME=VALUE for every record")->take_all()->allow_extra_args(false);
  app.add_flag("--threads", setting.threads, "Ask for MPI_THREAD_MULTIPLE");
}

int run(int argc, char** argv, CLI::App& app, const Setting& setting, const std::function<void()>& body) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, setting.threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  try {
    body();
  } catch (const std::exception& error) {
    // The other ranks would wait for ever.
    std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), error.what());
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
  MPI_Finalize();
  return EXIT_SUCCESS;
}

double now() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

void sleep_for(double seconds) {
  if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

double median(Values values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Ranks::Ranks(MPI_Comm comm) : comm_(comm) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  rank_ = static_cast<std::size_t>(rank);
  size_ = static_cast<std::size_t>(size);
}

void Ranks::meet_once() const {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(comm_, &request);
  Nap nap = kShortestNap;
  int done = 0;
  while (MPI_Test(&request, &done, MPI_STATUS_IGNORE), done == 0) {
    std::this_thread::sleep_for(nap);
    nap = std::min(nap * 2, kLongestNap);
  }
}

// A rank that has waited long sleeps long between looks. The second meeting is short, and so are its sleeps.
void Ranks::meet() const {
  meet_once();
  meet_once();
}

Values Ranks::slowest(Values mine) const {
  meet();
  MPI_Allreduce(MPI_IN_PLACE, mine.data(), static_cast<int>(mine.size()), MPI_DOUBLE, MPI_MAX, comm_);
  return mine;
}

Values Ranks::slowest(const std::vector<Span>& mine) const {
  Values seconds;
  for (const Span& span : mine) seconds.push_back(span.end - span.start);
  return slowest(std::move(seconds));
}

Values Ranks::together(const std::vector<Span>& mine) const {
  Values starts, ends;
  for (const Span& span : mine) {
    starts.push_back(-span.start);
    ends.push_back(span.end);
  }
  starts = slowest(starts);
  ends = slowest(ends);
  Values seconds;
  for (std::size_t i = 0; i < mine.size(); ++i) seconds.push_back(ends[i] + starts[i]);
  return seconds;
}

double Ranks::from_first(double value) const {
  meet();
  MPI_Bcast(&value, 1, MPI_DOUBLE, 0, comm_);
  return value;
}

double Ranks::sum(double mine) const {
  double all = 0;
  MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, 0, comm_);
  return all;
}

void Records::add(const Figure& figure) const {
  if (!writes_) return;
  nlohmann::json record{{"group", figure.group}, {"figure", figure.name}, {"unit", figure.unit}};
  record["values"] = figure.values;
  if (!figure.limit.empty()) {
    record["limit"] = figure.limit;
    record["ratio_of"] = figure.as_rate ? "rate" : "time";
    if (!figure.limit_values.empty()) record["limit_values"] = figure.limit_values;
  }
  if (!figure.cpu.empty()) record["cpu_values"] = figure.cpu;
  if (!figure.limit_cpu.empty()) record["limit_cpu_values"] = figure.limit_cpu;
  if (figure.series) record["series"] = true;
  for (const auto& [name, value] : figure.facts) record[name] = value;
  for (const std::string& tag : setting_.tags) {
    const auto equals = tag.find('=');
    if (equals == std::string::npos) throw std::runtime_error("--tag " + tag + ": not NAME=VALUE");
    record[tag.substr(0, equals)] = number_or_text(tag.substr(equals + 1));
  }
  std::ofstream out(setting_.records, std::ios::app);
  out << record.dump() << '\n' << std::flush;
  if (!out) throw std::runtime_error(setting_.records + ": cannot be written");
}

Span time_step(const Ranks& ranks, Who who, const std::function<void()>& step) {
  return time_turns(ranks, who == Who::all ? 1 : ranks.rank() == 0 ? ranks.size() : 0, step);
}

Span time_turns(const Ranks& ranks, std::size_t turns, const std::function<void()>& step) {
  Span span;
  ranks.meet();
  if (turns > 0) span.start = now();
  for (std::size_t turn = 0; turn < turns; ++turn) step();
  if (turns > 0) span.end = now();
  ranks.meet();
  return span;
}

void write_file(const std::string& path, cairn::Bytes bytes, Write how) {
  const int flags = how == Write::over ? O_WRONLY : O_WRONLY | O_CREAT | O_TRUNC;
  auto file = cairn::posix::open_file(AT_FDCWD, path, flags, path);
  if (!file) throw std::runtime_error(file.error().text());
  for (std::uint64_t at = 0; at < bytes.size(); at += kPieceBytes) {
    const auto piece = bytes.subspan(at, std::min<std::uint64_t>(kPieceBytes, bytes.size() - at));
    require(cairn::posix::write_all(file->get(), at, piece, path));
  }
  if (how == Write::fresh_synced) require(cairn::posix::sync_data(file->get(), path));
}

void remove_file(const std::string& path) { std::filesystem::remove(path); }

}  // namespace bench
