#include "session/handover.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/bytes.hpp"
#include "base/file_size_limit.hpp"
#include "codec/crc32c.hpp"
#include "session/exception.hpp"

namespace cairn {
namespace {

using Kind = CompletionMark::Kind;
constexpr std::pair<std::string_view, Kind> kWords[] = {{"opened", Kind::opened},
                                                        {"finished", Kind::finished},
                                                        {"stopped", Kind::stopped},
                                                        {"error", Kind::error},
                                                        {"failed", Kind::failed}};
constexpr std::pair<std::string_view, Cause::Source> kSources[] = {{"error", Cause::Source::error},
                                                                   {"exception", Cause::Source::exception},
                                                                   {"exit", Cause::Source::exit},
                                                                   {"repairs", Cause::Source::repairs}};
constexpr std::pair<std::string_view, int> kStopSignals[] = {{"SIGUSR1", SIGUSR1}, {"SIGUSR2", SIGUSR2}};
constexpr std::string_view kApplicationWord = "application";  // of kWorldVariable
constexpr std::string_view kCauseWord = "cause ";
constexpr std::size_t kMostAboutBytes = 1024;

std::string line_of(std::string text, std::size_t most) {
  std::ranges::replace(text, '\n', ' ');
  text.resize(std::min(text.size(), most));
  return text + '\n';
}

// "cause error 7 rank000007.shard"; the number is the code's.
std::string text_of(const Cause& cause) {
  const auto* const word =
      std::ranges::find(kSources, cause.source, &std::pair<std::string_view, Cause::Source>::second);
  return fmt::format("{}{} {} {}", kCauseWord, word->first, static_cast<int>(cause.code), cause.about);
}

std::string_view take_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(word.size() + 1, text.size()));
  return word;
}

// None: the line is cut, or of a Cairn that knows other causes.
std::optional<Cause> parse_cause(std::string_view text) {
  const auto end = text.find('\n');
  if (end == std::string_view::npos || !text.starts_with(kCauseWord)) return {};
  text = text.substr(kCauseWord.size(), end - kCauseWord.size());
  const std::string_view source = take_word(text);
  const std::string_view digits = take_word(text);
  std::uint64_t number = 0;
  const auto [after, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const auto* const word = std::ranges::find(kSources, source, &std::pair<std::string_view, Cause::Source>::first);
  const auto code = code_of(number);
  if (word == std::end(kSources) || error != std::errc() || after != digits.data() + digits.size() || !code) return {};
  return Cause{word->second, *code, std::string(text)};
}

}  // namespace

bool restart_would_fail(Code code) {
  switch (code) {
    case Code::invalid_argument:
    case Code::config:
    case Code::newer_format:
    case Code::untrusted:
    case Code::unrecoverable:
    case Code::unreadable:
    case Code::version_unavailable:
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

bool Cause::is_first() const {
  return source != Source::error || (code != Code::communication && code != Code::failed_elsewhere);
}

Cause cause_of(const Error& error) { return {Cause::Source::error, error.code, error.file}; }

Cause cause_of(const std::exception& error) {
  const auto* const own = dynamic_cast<const ErrorException*>(&error);
  return own == nullptr ? Cause{Cause::Source::exception, {}, error.what()} : cause_of(own->error());
}

std::string to_text(const CompletionMark& mark) {
  std::string text;
  const auto* const word = std::ranges::find(kWords, mark.kind, &std::pair<std::string_view, Kind>::second);
  if (word != std::end(kWords)) {
    const std::string more = mark.run.value == 0 ? mark.text : fmt::format("{:016x}", mark.run.value);
    text = fmt::format("{}{}{}", word->first, more.empty() ? "" : " ", more);
    const std::string cause = mark.cause ? line_of(text_of(*mark.cause), kMostAboutBytes) : "";
    text = line_of(std::move(text), kMarkBytes - 1 - cause.size()) + cause;
  }
  text.resize(kMarkBytes, ' ');
  return text;
}

Result<CompletionMark> parse_mark(std::string_view text) {
  const auto end = text.substr(0, kMarkBytes).find('\n');
  if (end == std::string_view::npos) return CompletionMark{};
  const auto line = text.substr(0, end);
  const auto space = std::min(line.find(' '), line.size());
  const auto* const word = std::ranges::find(kWords, line.substr(0, space), &std::pair<std::string_view, Kind>::first);
  if (word == std::end(kWords)) return fail(Code::corrupt, fmt::format("\"{}\" is not a completion mark", line));
  CompletionMark mark{word->second, std::string(line.substr(std::min(space + 1, line.size())))};
  if (mark.kind == Kind::error || mark.kind == Kind::failed)
    mark.cause = parse_cause(text.substr(end + 1, kMarkBytes - end - 1));
  if (mark.kind != Kind::opened) return mark;
  (void)std::from_chars(mark.text.data(), mark.text.data() + mark.text.size(), mark.run.value, 16);
  mark.text.clear();
  return mark;
}

// One write of the whole, so that a reader, or a second rank that writes, meets no mixture.
Status write_mark(const std::string& path, const CompletionMark& mark) {
  const auto failed = [&] {
    return fail_in_file(Code::io, path, "cannot be written: " + std::generic_category().message(errno));
  };
  const FileSizeLimit limit;
  errno = 0;
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  if (!file.is_open()) file.open(path, std::ios::binary | std::ios::out);
  if (!file.is_open()) return failed();
  file << to_text(mark) << std::flush;
  if (!file.good()) return failed();
  file.close();
  return file.good() ? Status{} : failed();
}

Result<CompletionMark> read_mark(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail(Code::not_found, path + ": the completion mark does not exist");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  auto mark = parse_mark(text);
  if (!mark) return fail(mark.error().in(path));
  return mark;
}

std::string session_name(const Config& config) {
  return fmt::format("{:08x}", crc32c(bytes_of(config.job.name + '\0' + config.storage.global)));
}

std::string mark_of_session(const std::string& launch, const std::string& session) { return launch + "." + session; }

std::string session_of_mark(const std::string& path) { return path.substr(path.rfind('.') + 1); }

Marks read_marks(const std::string& launch) {
  namespace fs = std::filesystem;
  Marks marks{read_mark(launch).value_or(CompletionMark{}), {}};
  const std::string prefix = fs::path(launch).filename().string() + ".";
  std::error_code error;
  for (fs::directory_iterator it(fs::path(launch).parent_path(), error), end; !error && it != end;
       it.increment(error)) {
    if (!it->path().filename().string().starts_with(prefix)) continue;
    auto mark = read_mark(it->path().string()).value_or(CompletionMark{});
    if (mark.kind != Kind::none) marks.sessions.emplace(it->path().string(), std::move(mark));
  }
  return marks;
}

CompletionMark summary_of(const Marks& marks) {
  std::vector<CompletionMark> sessions;
  for (const auto& [path, mark] : marks.sessions) sessions.push_back(mark);
  const auto find = [&](Kind kind) -> const CompletionMark* {
    const auto found = std::ranges::find(sessions, kind, &CompletionMark::kind);
    return found == sessions.end() ? nullptr : &*found;
  };
  if (marks.launch.kind == Kind::error) return marks.launch;
  if (const auto* error = find(Kind::error)) return *error;
  if (const auto* failed = find(Kind::failed)) return *failed;
  const auto* const open = find(Kind::opened);
  if (marks.launch.kind != Kind::none && (open != nullptr || sessions.empty())) return marks.launch;
  if (open != nullptr) return *open;
  if (const auto* stopped = find(Kind::stopped)) return *stopped;
  return sessions.empty() ? CompletionMark{} : sessions.front();
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
      return fail(
          Code::config,
          fmt::format("{} = {}: not a list of numbers such as 1,3. Do not set variables that begin with CKPT_RUN_",
                      variable, text));
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

std::string stop_signal_text(std::optional<int> number) {
  for (const auto& [word, signal] : kStopSignals)
    if (signal == number) return std::string(word);
  return {};
}

Result<std::optional<int>> parse_stop_signal(std::string_view text) {
  if (text.empty()) return std::nullopt;
  for (const auto& [word, signal] : kStopSignals)
    if (word == text) return std::optional<int>(signal);
  return fail(Code::config, fmt::format("{} = {}: write SIGUSR1, SIGUSR2 or nothing", kStopSignalVariable, text));
}

std::map<std::string, std::string> world_variables(const std::optional<StartedWorld>& world) {
  if (!world) return {{kWorldVariable, ""}, {kNodeSizeVariable, ""}, {kSparesVariable, ""}, {kRepairsVariable, ""}};
  return {{kWorldVariable, std::string(kApplicationWord)},
          {kNodeSizeVariable, numbers_text(world->node_size)},
          {kSparesVariable, numbers_text({world->spares})},
          {kRepairsVariable, world->repairs ? "1" : ""}};
}

Result<std::optional<StartedWorld>> parse_world(const std::map<std::string, std::string>& variables) {
  const auto value = [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
  const std::string mode = value(kWorldVariable);
  if (mode.empty()) return std::nullopt;
  if (mode != kApplicationWord)
    return fail(Code::config, fmt::format("{} = {}: write {} or nothing", kWorldVariable, mode, kApplicationWord));
  auto node_size = parse_numbers(kNodeSizeVariable, value(kNodeSizeVariable));
  if (!node_size) return fail(node_size.error());
  const auto spares = parse_numbers(kSparesVariable, value(kSparesVariable));
  if (!spares) return fail(spares.error());
  if (spares->size() != 1)
    return fail(Code::config, fmt::format("{} = {}: write one number", kSparesVariable, value(kSparesVariable)));
  return StartedWorld{std::move(*node_size), spares->front(), value(kRepairsVariable) == "1"};
}

}  // namespace cairn
