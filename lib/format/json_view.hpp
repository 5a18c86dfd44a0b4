// A checked reader of JSON. Every access returns a value of the requested type, or a default if it is not there. The
// first error is kept, with its place ("holdings[0].node"); the caller checks for it once, at the end. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "format/json_file.hpp"

namespace cairn {

class JsonView {
 public:
  // `complaint` outlives every view made from this one; the first complaint is kept.
  JsonView(const nlohmann::json* value, std::string place, std::string* complaint)
      : value_(value), place_(std::move(place)), complaint_(complaint) {}

  [[nodiscard]] JsonView operator[](const char* key) const;
  [[nodiscard]] JsonView at(std::size_t index) const;
  // Whether an object has a key, for keys that may be missing.
  [[nodiscard]] bool has(const char* key) const;
  // Elements of an array.
  [[nodiscard]] std::size_t size() const;

  [[nodiscard]] std::uint64_t number(std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) const;
  [[nodiscard]] std::uint32_t number32() const;
  // A number below `limit`: an index.
  [[nodiscard]] std::uint32_t below(std::size_t limit) const;
  // A whole number that may be negative.
  [[nodiscard]] std::int64_t whole() const;
  // A number that need not be whole, of 0 or more.
  [[nodiscard]] double real() const;
  // The same, which may be negative.
  [[nodiscard]] double any_real() const;
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool is_text() const;
  // An array of exactly `count` elements.
  void expect_size(std::size_t count) const;

  // Says what is wrong with this value: "is 9, should be below 4".
  void complain(std::string_view what) const;
  [[nodiscard]] bool good() const { return complaint_->empty(); }

 private:
  const nlohmann::json* value_;  // null after a complaint
  std::string place_;
  std::string* complaint_;
};

namespace detail {
[[nodiscard]] Status check_kind(const JsonView& root, std::string_view kind, const Sealer& sealer, bool sealed);
}

// Checks the seal of `text` and parses it. Checks that it is of `kind`, which also names it in errors, and of a format
// that this Cairn reads. Then `read` turns it into a T. From format 2 on, a file has a seal.
template <class T, class Read>
Result<T> read_json(const std::string& text, std::string_view kind, const Sealer& sealer, Read read) {
  const auto sealed = sealer.check(text);
  if (!sealed) return fail(sealed.error().in(kind));
  const auto root = nlohmann::json::parse(text, nullptr, false);
  if (!root.is_object()) return fail(Code::corrupt, std::string(kind) + ": not JSON");
  std::string complaint;
  const JsonView view(&root, "", &complaint);
  if (auto good = detail::check_kind(view, kind, sealer, *sealed); !good) return fail(good.error());
  T value = read(view);
  if (!complaint.empty()) return fail(Code::corrupt, std::string(kind) + ": " + complaint);
  return value;
}

}  // namespace cairn
