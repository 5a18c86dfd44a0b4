#include "support/facts.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <ostream>
#include <system_error>

#include "session/exception.hpp"
#include "support/code_name.hpp"

namespace cairn::test {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_letter_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string list_of(const Things& things) {
  std::string text;
  for (const std::string& thing : things) text += (text.empty() ? "\"" : ", \"") + thing + "\"";
  return text;
}

// Whether a word begins, or goes on, where `text` is cut at `at`. A number goes on after a point.
bool begins_inside(std::string_view text, std::size_t at) {
  if (at == 0 || !is_letter_of_word(text[at])) return false;
  if (is_letter_of_word(text[at - 1])) return true;
  return at > 1 && text[at - 1] == '.' && is_digit(text[at]) && is_digit(text[at - 2]);
}

bool ends_inside(std::string_view text, std::size_t end) {
  if (end >= text.size() || !is_letter_of_word(text[end - 1])) return false;
  if (is_letter_of_word(text[end])) return true;
  return text[end] == '.' && is_digit(text[end - 1]) && end + 1 < text.size() && is_digit(text[end + 1]);
}

bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    if (!begins_inside(text, at) && !ends_inside(text, at + word.size())) return true;
  }
  return false;
}

std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [after, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return {};
  text.remove_prefix(static_cast<std::size_t>(after - text.data()));
  return number;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Whether `text` begins with a list of numbers, such as "2, 3 and 7 to 9", that has `wanted`.
bool begins_with_list(std::string_view text, std::uint64_t wanted) {
  bool is_range = false;
  for (std::uint64_t before = 0;;) {
    const auto number = take_number(text);
    if (!number) return false;
    if (*number == wanted || (is_range && before < wanted && wanted < *number)) return true;
    before = *number;
    is_range = take(text, " to ") || take(text, "-");
    if (!is_range && !take(text, ", and ") && !take(text, ", ") && !take(text, " and ")) return false;
  }
}

// "ranks 2, 3" names rank 3.
bool has_in_list(std::string_view text, std::string_view kind, std::uint64_t number) {
  for (std::size_t at = text.find(kind); at != std::string_view::npos; at = text.find(kind, at + 1)) {
    std::string_view rest = text.substr(at + kind.size());
    if (begins_inside(text, at) || !(take(rest, "s ") || take(rest, ", ") || take(rest, " "))) continue;
    if (begins_with_list(rest, number)) return true;
  }
  return false;
}

bool names_numbered(std::string_view text, std::string_view kind, std::uint64_t number) {
  if (kind == "version" && has_word(text, "v" + std::to_string(number))) return true;
  return has_in_list(text, kind, number);
}

// Those that `text` does not name.
Things missing_in(std::string_view text, const Things& things) {
  Things missing;
  std::ranges::copy_if(things, std::back_inserter(missing), [&](const auto& thing) { return !has_thing(text, thing); });
  return missing;
}

bool lacks_nothing(std::string_view text, const Things& things, testing::MatchResultListener& listener) {
  const Things missing = missing_in(text, things);
  if (!missing.empty()) listener << " without " << list_of(missing) << ";";
  return missing.empty();
}

}  // namespace

Failure failure_of(const Error& error) { return {error.code, {}, error.text()}; }

Failure failure_of(const std::exception& error) {
  Failure failure{{}, {}, error.what()};
  if (const auto* const own = dynamic_cast<const Exception*>(&error)) failure.kind = own->kind();
  if (const auto* const own = dynamic_cast<const ErrorException*>(&error)) failure.code = own->error().code;
  return failure;
}

std::ostream& operator<<(std::ostream& out, const Failure& failure) {
  if (failure.code) return out << name(*failure.code) << ": " << failure.text;
  return out << (failure.kind ? name(*failure.kind) : "another exception") << ": " << failure.text;
}

bool has_thing(std::string_view text, std::string_view thing) {
  if (thing.empty()) return false;
  if (has_word(text, thing)) return true;
  const std::size_t space = thing.rfind(' ');
  if (space == std::string_view::npos) return false;
  std::string_view digits = thing.substr(space + 1);
  const auto number = take_number(digits);
  return number && digits.empty() && names_numbered(text, thing.substr(0, space), *number);
}

std::vector<std::string> lines_that_name(std::string_view text, const Things& things) {
  std::vector<std::string> found;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (missing_in(line, things).empty()) found.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

void FailsMatcher::DescribeTo(std::ostream* out) const {
  *out << "fails with " << (code_ ? name(*code_) : name(*kind_));
  if (!things_.empty()) *out << " and names " << list_of(things_);
}

void FailsMatcher::DescribeNegationTo(std::ostream* out) const {
  *out << "does not fail with " << (code_ ? name(*code_) : name(*kind_));
  if (!things_.empty()) *out << " naming " << list_of(things_);
}

bool FailsMatcher::match(const Thrown& failures, testing::MatchResultListener& listener) const {
  if (failures.empty()) listener << "which has not failed";
  for (const Failure& failure : failures) {
    listener << "which fails with " << failure << ";";
    if ((code_ && failure.code != code_) || (kind_ && failure.kind != kind_)) continue;
    if (lacks_nothing(failure.text, things_, listener)) return true;
  }
  return false;
}

bool NamesMatcher::MatchAndExplain(const std::string& text, testing::MatchResultListener* listener) const {
  if (!lines_that_name(text, things_).empty()) return true;
  return lacks_nothing(text, things_, *listener) ? (*listener << "which has no line with all of them", false) : false;
}

bool NamesMatcher::MatchAndExplain(const std::pair<LogLevel, std::string>& line,
                                   testing::MatchResultListener* listener) const {
  if (level_ && line.first != *level_) {
    *listener << "which is of another level";
    return false;
  }
  return lacks_nothing(line.second, things_, *listener);
}

void NamesMatcher::DescribeTo(std::ostream* out) const { *out << "names " << list_of(things_); }
void NamesMatcher::DescribeNegationTo(std::ostream* out) const { *out << "does not name " << list_of(things_); }

}  // namespace cairn::test
