#include "format/json_view.hpp"

#include <fmt/format.h>

#include "base/plain_text.hpp"

namespace cairn {

void JsonView::complain(std::string_view what) const {
  if (complaint_->empty()) *complaint_ = fmt::format("{} {}", place_.empty() ? "it" : place_, what);
}

JsonView JsonView::operator[](const char* key) const {
  JsonView member(nullptr, place_.empty() ? key : place_ + "." + key, complaint_);
  if (value_ == nullptr) return member;
  if (!value_->is_object()) {
    complain("should be an object");
    return member;
  }
  const auto found = value_->find(key);
  if (found == value_->end()) {
    member.complain("is missing");
    return member;
  }
  member.value_ = &*found;
  return member;
}

JsonView JsonView::at(std::size_t index) const {
  JsonView element(nullptr, fmt::format("{}[{}]", place_, index), complaint_);
  if (index < size()) {
    element.value_ = &(*value_)[index];
  } else {
    element.complain("is missing");
  }
  return element;
}

bool JsonView::has(const char* key) const { return value_ != nullptr && value_->is_object() && value_->contains(key); }

std::size_t JsonView::size() const {
  if (value_ == nullptr) return 0;
  if (!value_->is_array()) {
    complain("should be an array");
    return 0;
  }
  return value_->size();
}

std::uint64_t JsonView::number(std::uint64_t most) const {
  if (value_ == nullptr) return 0;
  if (!value_->is_number_unsigned()) {
    complain("should be a whole number of 0 or more");
    return 0;
  }
  const auto number = value_->get<std::uint64_t>();
  if (number > most) {
    complain(fmt::format("is {}, should be at most {}", number, most));
    return 0;
  }
  return number;
}

std::uint32_t JsonView::number32() const {
  return static_cast<std::uint32_t>(number(std::numeric_limits<std::uint32_t>::max()));
}

std::uint32_t JsonView::below(std::size_t limit) const {
  const std::uint32_t index = number32();
  if (value_ != nullptr && index >= limit) complain(fmt::format("is {}, should be below {}", index, limit));
  return index;
}

std::int64_t JsonView::whole() const {
  if (value_ == nullptr) return 0;
  const auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!value_->is_number_integer() || (value_->is_number_unsigned() && value_->get<std::uint64_t>() > most)) {
    complain("should be a whole number of 64 bits");
    return 0;
  }
  return value_->get<std::int64_t>();
}

double JsonView::any_real() const {
  if (value_ == nullptr) return 0;
  if (!value_->is_number()) complain("should be a number");
  return value_->is_number() ? value_->get<double>() : 0;
}

double JsonView::real() const {
  if (value_ == nullptr) return 0;
  if (!value_->is_number() || value_->get<double>() < 0) {
    complain("should be a number of 0 or more");
    return 0;
  }
  return value_->get<double>();
}

bool JsonView::boolean() const {
  if (value_ == nullptr) return false;
  if (!value_->is_boolean()) {
    complain("should be true or false");
    return false;
  }
  return value_->get<bool>();
}

std::string JsonView::text() const {
  if (value_ == nullptr) return {};
  if (!value_->is_string()) {
    complain("should be a string");
    return {};
  }
  return unescaped(value_->get_ref<const std::string&>());
}

bool JsonView::is_text() const { return value_ != nullptr && value_->is_string(); }

void JsonView::expect_size(std::size_t count) const {
  const std::size_t is = size();
  if (value_ != nullptr && is != count) complain(fmt::format("has {} elements, should have {}", is, count));
}

Status detail::check_kind(const JsonView& root, std::string_view kind, const Sealer& sealer, bool sealed) {
  const JsonView format = root["format"];
  const std::uint64_t number = format.number();
  if (format.good() && number > 1 && !sealed) {
    format.complain(fmt::format("is {}, but the file does not end with its sha256", number));
    return {};
  }
  if (format.good() && number > kNewestFormat)
    return fail_newer_format(fmt::format("{} format", kind), number, kNewestFormat);
  // The digest is right, so the format can be trusted: it says whether the file has a code of a key.
  if (format.good() && is_keyed(number) != sealer.has_key())
    format.complain(
        fmt::format("is {}, should be the format of a file {} a key", number, sealer.has_key() ? "with" : "without"));
  if (format.good() && number == 0) format.complain("is 0, should be 1 or more");
  const std::string is = root["kind"].text();
  if (root.good() && is != kind) root["kind"].complain(fmt::format("is \"{}\", should be \"{}\"", is, kind));
  return {};
}

}  // namespace cairn
