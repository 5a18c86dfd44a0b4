#include "torture/mpi/diary.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace cairn::torture {
namespace {

using nlohmann::json;

constexpr const char* kAttempt = "attempt.";

std::int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
json json_of(const Asked& asked) { return {static_cast<int>(asked.by), asked.version}; }
Asked asked_of(const json& asked) { return {static_cast<Asked::By>(asked[0].get<int>()), asked[1]}; }
Moment moment_of(const json& ticks) { return Moment(Moment::duration(ticks.get<std::int64_t>())); }

}  // namespace

Diary::Diary(std::string directory)
    : directory_(std::move(directory)),
      file_(open(fmt::format("{}/{}.{}", directory_, getppid(), getpid()).c_str(),
                 O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600)),
      began_(now()) {
  if (file_ < 0) std::abort();
}

Diary::~Diary() { close(file_); }

void Diary::write(const json& line) {
  json timed = line;
  timed["at"] = now();
  timed["attempt"] = attempt_;
  const std::string text = timed.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  if (::write(file_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) std::abort();
}

std::uint32_t Diary::claim_attempt() const {
  for (std::uint32_t number = 0;; ++number) {
    const int made = open(fmt::format("{}/{}{}", directory_, kAttempt, number).c_str(), O_CREAT | O_EXCL, 0600);
    if (made < 0 && errno != EEXIST) std::abort();
    if (made < 0) continue;
    close(made);
    return number;
  }
}

void Diary::begins_attempt(std::uint32_t number, bool goes_on) {
  attempt_ = number;
  write({{"what", "attempt"}, {"began", began_}, {"goes on", goes_on}});
}

void Diary::cannot_open(const std::string& why) { write({{"what", "cannot open"}, {"error", why}}); }
void Diary::opens(std::uint32_t ranks) { write({{"what", "opens"}, {"ranks", ranks}}); }
void Diary::tries(std::uint64_t stamp) { write({{"what", "tries"}, {"stamp", stamp}}); }
void Diary::takes(std::uint32_t version, std::uint64_t stamp) {
  write({{"what", "takes"}, {"version", version}, {"stamp", stamp}});
}
void Diary::pins(std::uint64_t stamp) { write({{"what", "pins"}, {"stamp", stamp}}); }
void Diary::chooses(const Asked& asked) { write({{"what", "chooses"}, {"asked", json_of(asked)}}); }
void Diary::rejects(std::uint32_t version, std::uint64_t stamp) {
  write({{"what", "rejects"}, {"version", version}, {"stamp", stamp}});
}
void Diary::has_rejected(std::uint64_t stamp) { write({{"what", "has rejected"}, {"stamp", stamp}}); }
void Diary::is_safe(std::uint32_t level, std::uint32_t version) {
  write({{"what", "is safe"}, {"level", level}, {"version", version}});
}
void Diary::is_wrong(const std::string& what) { write({{"what", "is wrong"}, {"error", what}}); }
void Diary::restored(const Try& which, const Restored* seen, const std::string& error) {
  json line{{"what", "restored"}, {"which", which.number}, {"ranks", which.ranks}, {"error", error}};
  line["asked"] = json_of(which.asked);
  if (seen != nullptr) {
    line["seen"] = {{"fresh", seen->fresh},
                    {"version", seen->version},
                    {"stamp", seen->stamp},
                    {"of other ranks", seen->of_other_ranks}};
  }
  write(line);
}
void Diary::finalizes() { write({{"what", "finalizes"}}); }
void Diary::has_finalized(Ending ending) { write({{"what", "has finalized"}, {"ending", static_cast<int>(ending)}}); }

namespace {

void copy_line(const json& line, Notes& notes) {
  const std::string what = line["what"];
  if (what == "opens") notes.opens(line["ranks"]);
  if (what == "tries") notes.tries(line["stamp"]);
  if (what == "takes") notes.takes(line["version"], line["stamp"]);
  if (what == "pins") notes.pins(line["stamp"]);
  if (what == "chooses") notes.chooses(asked_of(line["asked"]));
  if (what == "rejects") notes.rejects(line["version"], line["stamp"]);
  if (what == "has rejected") notes.has_rejected(line["stamp"]);
  if (what == "is safe") notes.is_safe(line["level"], line["version"]);
  if (what == "is wrong") notes.is_wrong(line["error"]);
  if (what == "finalizes") notes.finalizes();
  if (what == "has finalized") notes.has_finalized(static_cast<Ending>(line["ending"].get<int>()));
  if (what != "restored") return;
  Restored restored;
  const bool well = line.contains("seen");
  if (well) {
    const json& seen = line["seen"];
    restored = {seen["fresh"], seen["version"], seen["stamp"], seen["of other ranks"]};
  }
  notes.restored({line["which"], line["ranks"], asked_of(line["asked"])}, well ? &restored : nullptr, line["error"]);
}

std::vector<json> lines_in(const std::string& directory) {
  std::vector<json> lines;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    std::ifstream file(entry.path());
    for (std::string text; std::getline(file, text);) {
      json line = json::parse(text, nullptr, false);
      if (line.is_object()) lines.push_back(std::move(line));
    }
  }
  std::ranges::stable_sort(lines, {}, [](const json& line) { return line["at"].get<std::int64_t>(); });
  return lines;
}

}  // namespace

std::size_t count_beginnings(const std::string& directory) {
  std::set<std::string> starters;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kAttempt)) starters.insert(name.substr(0, name.find('.')));
  }
  return std::max(count_attempts(directory), starters.size());
}

std::size_t count_attempts(const std::string& directory) {
  std::size_t attempts = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().filename().string().starts_with(kAttempt)) ++attempts;
  }
  return attempts;
}

Diaries read_diaries(const std::string& directory) {
  Diaries diaries;
  std::map<std::int64_t, Chapter> by_number;
  for (json& line : lines_in(directory)) {
    const std::string what = line["what"];
    const bool is_open = diaries.open_error.empty() || diaries.open_error == Diary::kToldElsewhere;
    if (what == "cannot open" && is_open) diaries.open_error = line["error"];
    if (line["attempt"] < 0) continue;
    const auto [found, is_new] = by_number.try_emplace(line["attempt"].get<std::int64_t>());
    Chapter& chapter = found->second;
    if (what == "attempt") {
      const Moment began = moment_of(line["began"]);
      chapter.began = is_new ? began : std::min(chapter.began, began);
      if (is_new) chapter.opened = moment_of(line["at"]);
      chapter.goes_on |= line["goes on"].get<bool>();
    }
    chapter.lines.push_back(std::move(line));
  }
  for (auto& [number, chapter] : by_number) diaries.chapters.push_back(std::move(chapter));
  return diaries;
}

void copy(const Chapter& chapter, Notes& notes) {
  for (const json& line : chapter.lines) copy_line(line, notes);
}

}  // namespace cairn::torture
