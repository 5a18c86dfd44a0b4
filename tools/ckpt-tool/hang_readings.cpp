#include "hang_readings.hpp"

#include <algorithm>
#include <map>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "format/call_file.hpp"
#include "hang_process.hpp"
#include "store/names.hpp"

namespace ckpt_tool {
namespace {

using cairn::CallFile;
using cairn::Rank;
using cairn::Result;

struct Place {
  std::size_t store = 0;
  Rank rank;
  friend auto operator<=>(const Place&, const Place&) = default;
};

struct First {
  cairn::hang::Moment moment;
  std::optional<ProcessSample> process;
  std::optional<ProcessSample> head;  // of the rank's node
};

// Times in the files are of their host's clock, and so are those of this host's.
std::int64_t now_of(const CallFile& file, bool here) {
  if (here) return monotonic_now();
  const auto today = std::chrono::system_clock::now().time_since_epoch();
  return file.opened + (std::chrono::duration_cast<std::chrono::nanoseconds>(today).count() - file.opened_at);
}

class Reading {
 public:
  explicit Reading(const OpenStores& opened) : stores_(opened.stores.nodes), host_(this_host()) {}

  // Files that are there, and readable.
  void first() {
    for (const Place& place : places()) {
      const auto file = read(place);
      if (!file) continue;
      First first{cairn::hang::moment_of(**file), {}, {}};
      if (is_here(**file)) first.process = sample_process((*file)->process);
      if (is_here(**file) && (*file)->head_process != 0) first.head = sample_process((*file)->head_process);
      first_.emplace(place, first);
    }
  }

  Readings second() {
    Readings found;
    problems_.clear();
    std::vector<Rank> there;
    for (const Place& place : places()) {
      there.push_back(place.rank);
      if (const auto file = read(place)) found.ranks.push_back(reading_of(place, **file));
    }
    for (const auto& [place, first] : first_)
      if (std::ranges::find(there, place.rank) == there.end()) found.left.push_back(place.rank);
    found.problems = std::move(problems_);
    return found;
  }

 private:
  std::vector<Place> places() {
    std::vector<Place> found;
    for (std::size_t store = 0; store < stores_.size(); ++store) {
      const auto entries = stores_[store]->list(cairn::names::calls());
      if (!entries) problems_.push_back(entries.error().text());
      if (!entries) continue;
      for (const cairn::Entry& entry : *entries)
        if (const auto rank = cairn::names::parse_calls(entry.name)) found.push_back({store, *rank});
    }
    return found;
  }

  // One that went away meanwhile is no problem.
  Result<std::unique_ptr<CallFile>> read(const Place& place) {
    const cairn::Store& store = *stores_[place.store];
    auto file = read_call_file(store, cairn::names::calls(place.rank));
    if (!file && file.error().code != cairn::Code::not_found)
      problems_.push_back(file.error().in(store.where()).text());
    return file;
  }

  bool is_here(const CallFile& file) const { return host_of(file) == host_; }

  cairn::hang::RankReading reading_of(const Place& place, const CallFile& file) {
    const auto before = first_.find(place);
    const bool seen = before != first_.end();
    cairn::hang::RankReading reading;
    reading.calls = cairn::hang::condense(file, seen ? std::optional(before->second.moment) : std::nullopt);
    reading.now = now_of(file, is_here(file));
    if (!is_here(file)) return reading;
    reading.process =
        facts_of(seen ? before->second.process : std::nullopt, sample_process(file.process), file.opened, reading.now);
    if (file.head_process != 0)
      reading.head = facts_of(seen ? before->second.head : std::nullopt, sample_process(file.head_process), file.opened,
                              reading.now);
    return reading;
  }

  const std::vector<std::shared_ptr<const cairn::Store>>& stores_;
  std::string host_;
  std::map<Place, First> first_;
  std::vector<std::string> problems_;
};

}  // namespace

Result<Readings> take_readings(const OpenStores& opened, std::chrono::milliseconds apart) {
  Reading reading(opened);
  reading.first();
  std::this_thread::sleep_for(apart);
  Readings found = reading.second();
  if (!found.ranks.empty() || !found.problems.empty()) return found;
  return cairn::fail(
      cairn::Code::not_found,
      fmt::format("no rank of job {} has a file of its calls in {}", opened.job, opened.places_text()),
      "run ckpt-tool on a node of the job; ranks write these files if [job] tap = on and the program links cairn-tap");
}

}  // namespace ckpt_tool
