#include "torture/diary.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cairn::torture {

using nlohmann::json;

Diary::Diary(const std::string& directory)
    : file_(open(fmt::format("{}/{}", directory, getpid()).c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600)) {
  if (file_ < 0) std::abort();
}

Diary::~Diary() { close(file_); }

void Diary::write(const json& line) {
  json timed = line;
  timed["at"] = std::chrono::steady_clock::now().time_since_epoch().count();
  const std::string text = timed.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  if (::write(file_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) std::abort();
}

void Diary::opens(std::uint32_t ranks) { write({{"what", "opens"}, {"ranks", ranks}}); }
void Diary::cannot_open(const std::string& why) { write({{"what", "cannot open"}, {"error", why}}); }
void Diary::tries(std::uint64_t stamp) { write({{"what", "tries"}, {"stamp", stamp}}); }
void Diary::takes(std::uint32_t version, std::uint64_t stamp) {
  write({{"what", "takes"}, {"version", version}, {"stamp", stamp}});
}
void Diary::is_safe(std::uint32_t level, std::uint32_t version) {
  write({{"what", "is safe"}, {"level", level}, {"version", version}});
}
void Diary::is_wrong(const std::string& what) { write({{"what", "is wrong"}, {"error", what}}); }
void Diary::restored(std::size_t which, std::uint32_t ranks, const Restored* seen, const std::string& error) {
  json line{{"what", "restored"}, {"which", which}, {"ranks", ranks}, {"error", error}};
  if (seen != nullptr) line["seen"] = {{"fresh", seen->fresh}, {"version", seen->version}, {"stamp", seen->stamp}};
  write(line);
}
void Diary::has_finalized(Ending ending) { write({{"what", "has finalized"}, {"ending", static_cast<int>(ending)}}); }

namespace {

void copy(const json& line, Notes& notes, Lived& lived) {
  const std::string what = line["what"];
  if (what == "opens") lived.ranks = line["ranks"];
  if (what == "cannot open" && lived.open_error.empty()) lived.open_error = line["error"];
  if (what == "tries") notes.tries(line["stamp"]);
  if (what == "takes") notes.takes(line["version"], line["stamp"]);
  if (what == "is safe") notes.is_safe(line["level"], line["version"]);
  if (what == "is wrong") notes.is_wrong(line["error"]);
  if (what == "has finalized") notes.has_finalized(static_cast<Ending>(line["ending"].get<int>()));
  if (what != "restored") return;
  const Restored seen = line.contains("seen")
                            ? Restored{line["seen"]["fresh"], line["seen"]["version"], line["seen"]["stamp"]}
                            : Restored{};
  notes.restored(line["which"], line["ranks"], line.contains("seen") ? &seen : nullptr, line["error"]);
}

}  // namespace

bool has_diaries(const std::string& directory) { return !std::filesystem::is_empty(directory); }

Lived read_diaries(const std::string& directory, Notes& notes) {
  std::vector<json> lines;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    std::ifstream file(entry.path());
    for (std::string text; std::getline(file, text);) {
      json line = json::parse(text, nullptr, false);
      if (line.is_object()) lines.push_back(std::move(line));
    }
  }
  std::ranges::stable_sort(lines, {}, [](const json& line) { return line["at"].get<std::int64_t>(); });
  Lived lived;
  for (const json& line : lines) copy(line, notes, lived);
  return lived;
}

}  // namespace cairn::torture
