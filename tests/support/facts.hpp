// What tests ask of an error or a line of the log: its code, and the things that it names. Never its wording, so that
// a sentence can be rewritten without a test to change.
//
//   EXPECT_THAT(parse(text), Fails(Code::config, {"cairn.ini", "[job] tap"}));
//   EXPECT_THAT(thrown_by([&] { session.restore(); }), Fails(ErrorKind::mismatch, {"rank 1", "plate", "int32[4]"}));
//   EXPECT_THAT(log, Names({"rank 3", "node 2", "version 17"}));
//
// A thing is a name: of a file, a key, an option, a variable, a region, a call; a number, a size, a value. It is found
// as a whole word: "12" is not in "120". "rank 3" is also found in "ranks 2, 3" and "ranks 1 to 4", and "version 17" in
// "v17".
#pragma once

#include <exception>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <cairn/error.hpp>
#include <cairn/log.hpp>

#include "base/error.hpp"

namespace cairn::test {

using Things = std::vector<std::string>;

// An Error, or an exception that was caught: of Cairn, with a kind, and with a code where an error became one; or
// another.
struct Failure {
  std::optional<Code> code;
  std::optional<ErrorKind> kind;
  std::string text;
};
std::ostream& operator<<(std::ostream& out, const Failure& failure);

// Those that calls threw, one after the other.
using Thrown = std::vector<Failure>;

[[nodiscard]] Failure failure_of(const Error& error);
[[nodiscard]] Failure failure_of(const std::exception& error);

// What `calls` throw of Cairn's exceptions; each is called, whatever those before it threw.
template <class... Calls>
Thrown thrown_by(Calls... calls) {
  Thrown thrown;
  const auto note = [&](auto& call) {
    try {
      call();
    } catch (const Exception& error) {
      thrown.push_back(failure_of(error));
    }
  };
  (note(calls), ...);
  return thrown;
}

[[nodiscard]] bool has_thing(std::string_view text, std::string_view thing);
// The lines of `text` that name all of `things`.
[[nodiscard]] std::vector<std::string> lines_that_name(std::string_view text, const Things& things);

class FailsMatcher {
 public:
  FailsMatcher(std::optional<Code> code, std::optional<ErrorKind> kind, Things things)
      : code_(code), kind_(kind), things_(std::move(things)) {}

  template <class T>
  bool MatchAndExplain(const T& value, testing::MatchResultListener* listener) const {
    return match(failures_in(value), *listener);
  }
  void DescribeTo(std::ostream* out) const;
  void DescribeNegationTo(std::ostream* out) const;

 private:
  static Thrown failures_in(const Error& error) { return {failure_of(error)}; }
  static Thrown failures_in(const Exception& error) { return {failure_of(error)}; }
  static Thrown failures_in(const Failure& failure) { return {failure}; }
  static Thrown failures_in(const Thrown& thrown) { return thrown; }
  static Thrown failures_in(const std::optional<Error>& error) { return error ? Thrown{failure_of(*error)} : Thrown{}; }
  static Thrown failures_in(const std::optional<Failure>& failure) { return failure ? Thrown{*failure} : Thrown{}; }
  template <class T>
  static Thrown failures_in(const tl::expected<T, Error>& result) {
    return result ? Thrown{} : Thrown{failure_of(result.error())};
  }

  [[nodiscard]] bool match(const Thrown& failures, testing::MatchResultListener& listener) const;

  std::optional<Code> code_;
  std::optional<ErrorKind> kind_;
  Things things_;
};

// An Error, a Result, an optional<Error> or what was thrown, with this code, that names all of `things` in its message
// or its hint.
inline testing::PolymorphicMatcher<FailsMatcher> Fails(Code code, Things things = {}) {
  return testing::MakePolymorphicMatcher(FailsMatcher(code, {}, std::move(things)));
}
// An Exception of this kind, or what was thrown if one of that kind is there, that names all of `things`.
inline testing::PolymorphicMatcher<FailsMatcher> Fails(ErrorKind kind, Things things = {}) {
  return testing::MakePolymorphicMatcher(FailsMatcher({}, kind, std::move(things)));
}

class NamesMatcher {
 public:
  NamesMatcher(std::optional<LogLevel> level, Things things) : level_(level), things_(std::move(things)) {}

  bool MatchAndExplain(const std::string& text, testing::MatchResultListener* listener) const;
  bool MatchAndExplain(const std::pair<LogLevel, std::string>& line, testing::MatchResultListener* listener) const;
  void DescribeTo(std::ostream* out) const;
  void DescribeNegationTo(std::ostream* out) const;

 private:
  std::optional<LogLevel> level_;
  Things things_;
};

// A text in which one line names all of `things`.
inline testing::PolymorphicMatcher<NamesMatcher> Names(Things things) {
  return testing::MakePolymorphicMatcher(NamesMatcher({}, std::move(things)));
}
// A line of a LogReading, of this level.
inline testing::PolymorphicMatcher<NamesMatcher> Names(LogLevel level, Things things) {
  return testing::MakePolymorphicMatcher(NamesMatcher(level, std::move(things)));
}

}  // namespace cairn::test
