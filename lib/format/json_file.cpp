#include "format/json_file.hpp"

#include <algorithm>
#include <charconv>
#include <span>
#include <system_error>

#include <fmt/format.h>

#include "base/sha256.hpp"

namespace cairn {
namespace {

// The format stands within these first bytes of a file.
constexpr std::size_t kBeginning = 64;

}  // namespace

SealState seal_of(std::string_view text) {
  if (text.size() < kSealBytes) return SealState::none;
  const std::string_view seal = text.substr(text.size() - kSealBytes);
  if (!seal.starts_with(kBeforeDigest) || !seal.ends_with(kAfterDigest)) return SealState::none;
  const Sha256 digest = sha256(bytes_of(text.substr(0, text.size() - kSealBytes)));
  return seal.substr(kBeforeDigest.size(), kDigestDigits) == digest.hex() ? SealState::whole : SealState::broken;
}

std::optional<std::uint64_t> format_said(std::string_view text) {
  constexpr std::string_view kKey = "\"format\": ";
  text = text.substr(0, kBeginning);
  const std::size_t at = text.find(kKey);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + kKey.size());
  std::uint64_t format = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, format);
  if (error != std::errc() || stop == end || *stop != ',') return {};
  return format;
}

bool says_known_format(const Store& store, const FileName& name) {
  const auto reader = store.open(name);
  if (!reader) return false;
  std::string text(std::min<std::uint64_t>(kBeginning, (*reader)->size_bytes()), '\0');
  if (!(*reader)->read(0, std::as_writable_bytes(std::span(text)))) return false;
  const std::uint64_t format = format_said(text).value_or(0);
  return format > 0 && format <= kNewestFormat && !is_keyed(format);
}

Status write_json_text(Store& store, const FileName& name, const std::string& text, std::uint64_t most_bytes) {
  if (text.size() <= most_bytes) return write_text(store, name, text);
  return fail(Code::invalid_argument,
              fmt::format("{} would be {} bytes long, should be at most {}", name.path, text.size(), most_bytes),
              "use fewer ranks, or number them in the order of their nodes");
}

}  // namespace cairn
