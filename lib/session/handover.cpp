#include "session/handover.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cairn {
namespace {

using Kind = CompletionMark::Kind;
constexpr std::pair<std::string_view, Kind> kWords[] = {{"opened", Kind::opened},
                                                        {"finished", Kind::finished},
                                                        {"stopped", Kind::stopped},
                                                        {"error", Kind::error},
                                                        {"failed", Kind::failed}};

}  // namespace

bool restart_would_fail(Code code) {
  switch (code) {
    case Code::invalid_argument:
    case Code::config:
    case Code::newer_format:
    case Code::untrusted:
    case Code::unrecoverable:
    case Code::mismatch:
    case Code::taken_over: return true;
    case Code::not_found:
    case Code::corrupt:
    case Code::no_space:
    case Code::io:
    case Code::communication:
    case Code::failed_elsewhere: break;
  }
  return false;
}

bool restart_would_surely_fail(ErrorKind kind) {
  return kind == ErrorKind::usage || kind == ErrorKind::config || kind == ErrorKind::mismatch ||
         kind == ErrorKind::taken_over;
}

std::string to_line(const CompletionMark& mark) {
  const auto* const word = std::ranges::find(kWords, mark.kind, &std::pair<std::string_view, Kind>::second);
  if (word == std::end(kWords)) return {};
  std::string text = mark.text;
  std::ranges::replace(text, '\n', ' ');
  return fmt::format("{}{}{}\n", word->first, text.empty() ? "" : " ", text);
}

Result<CompletionMark> parse_mark(std::string_view text) {
  const auto end = text.find('\n');
  if (end == std::string_view::npos) return CompletionMark{};
  const auto line = text.substr(0, end);
  const auto space = std::min(line.find(' '), line.size());
  const auto* const word = std::ranges::find(kWords, line.substr(0, space), &std::pair<std::string_view, Kind>::first);
  if (word == std::end(kWords)) return fail(Code::corrupt, fmt::format("\"{}\" is not a completion mark", line));
  return CompletionMark{word->second, std::string(line.substr(std::min(space + 1, line.size())))};
}

// Several ranks may leave a mark while the job is being killed: each writes a file of its own.
Status write_mark(const std::string& path, const CompletionMark& mark) {
  const std::string next = fmt::format("{}.{:08x}", path, std::random_device{}());
  std::ofstream out(next, std::ios::binary | std::ios::trunc);
  out << to_line(mark) << std::flush;
  const bool written = out.good();
  out.close();
  std::error_code error;
  if (written) std::filesystem::rename(next, path, error);
  if (written && !error) return {};
  std::error_code ignored;
  std::filesystem::remove(next, ignored);
  return fail(Code::io, path + ": the completion mark cannot be written");
}

Result<CompletionMark> read_mark(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail(Code::not_found, path + ": the completion mark is not there");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  auto mark = parse_mark(text);
  if (!mark) return fail(mark.error().in(path));
  return mark;
}

std::string numbers_text(const std::vector<std::uint32_t>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ","));
}

Result<std::vector<std::uint32_t>> parse_numbers(std::string_view variable, std::string_view text) {
  std::vector<std::uint32_t> numbers;
  for (const char* at = text.data(); at != text.data() + text.size();) {
    const char* const end = text.data() + text.size();
    std::uint32_t number = 0;
    const auto [after, error] = std::from_chars(at, end, number);
    const bool goes_on = after != end && *after == ',' && after + 1 != end;
    if (error != std::errc() || (after != end && !goes_on))
      return fail(Code::config, fmt::format("{} = {}: not numbers; write 1,3 or nothing", variable, text));
    numbers.push_back(number);
    at = goes_on ? after + 1 : end;
  }
  return numbers;
}

std::string started_text(const StartedNumbers& started) {
  return numbers_text({started.ranks, started.heads, started.nodes});
}

Result<std::optional<StartedNumbers>> parse_started(std::string_view text) {
  const auto numbers = parse_numbers(kStartedVariable, text);
  if (!numbers) return fail(numbers.error());
  if (numbers->empty()) return std::nullopt;
  if (numbers->size() != 3)
    return fail(Code::config, fmt::format("{} = {}: write ranks,heads,nodes or nothing", kStartedVariable, text));
  return StartedNumbers{(*numbers)[0], (*numbers)[1], (*numbers)[2]};
}

}  // namespace cairn
