#include "session/rehearsal_notes.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace cairn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "notes.rank";

// A line is a word and its values:
//
//   restore
//   call PENDING CALL COUNTED RECEIVED RANK:SENT…      CALL is "-" if nothing is pending
//   late REGION                                        to the end of the line
//   finalize MILLISECONDS
NotedSafePoint safe_point_in(std::istringstream& line) {
  NotedSafePoint found;
  line >> found.pending >> found.call >> found.counted >> found.received;
  if (found.call == "-") found.call.clear();
  Rank receiver;
  char colon = 0;
  for (std::uint64_t sent = 0; line >> receiver.value >> colon >> sent;) found.sent[receiver] = sent;
  return found;
}

RankNotes notes_in(const fs::path& file, Rank rank) {
  RankNotes notes{.rank = rank};
  std::ifstream in(file);
  for (std::string text; std::getline(in, text);) {
    std::istringstream line(text);
    std::string word;
    line >> word;
    if (word == "call") {
      notes.safe_points.push_back(safe_point_in(line));
    } else if (word == "restore") {
      if (!notes.restored_after) notes.restored_after = notes.safe_points.size();
    } else if (word == "late") {
      notes.late.push_back(text.substr(word.size() + 1));
    } else if (word == "finalize") {
      std::int64_t quiet = 0;
      line >> quiet;
      notes.finalized = true;
      notes.longest_quiet = std::chrono::milliseconds(quiet);
    }
  }
  return notes;
}

}  // namespace

RehearsalWriter::RehearsalWriter(const std::string& directory, Rank rank)
    : file_(fs::path(directory) / fmt::format("{}{:06}", kPrefix, rank.value)) {}

void RehearsalWriter::restores() { file_ << "restore" << std::endl; }

void RehearsalWriter::is_late(const std::string& region) { file_ << "late " << region << std::endl; }

void RehearsalWriter::comes_to(const NotedSafePoint& at) {
  file_ << fmt::format("call {} {} {} {}", at.pending, at.call.empty() ? "-" : at.call, at.counted ? 1 : 0,
                       at.received);
  for (const auto& [receiver, sent] : at.sent) file_ << fmt::format(" {}:{}", receiver.value, sent);
  file_ << std::endl;
}

void RehearsalWriter::finalizes(std::chrono::milliseconds longest_quiet) {
  file_ << "finalize " << longest_quiet.count() << std::endl;
}

std::vector<RankNotes> read_rehearsal(const std::string& directory) {
  std::vector<RankNotes> all;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    Rank rank;
    const char* const last = name.data() + name.size();
    if (std::from_chars(name.data() + kPrefix.size(), last, rank.value).ptr == last)
      all.push_back(notes_in(it->path(), rank));
  }
  std::ranges::sort(all, {}, &RankNotes::rank);
  return all;
}

}  // namespace cairn
