#include "format/json_file.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "base/sha256.hpp"

namespace cairn {
namespace {

constexpr int kIndent = 1;
constexpr std::string_view kEndOfObject = "\n}";
constexpr std::string_view kBeforeDigest = ",\n \"sha256\": \"";
constexpr std::string_view kAfterDigest = "\"\n}\n";
constexpr std::size_t kDigits = 64;
constexpr std::size_t kSealBytes = kBeforeDigest.size() + kDigits + kAfterDigest.size();

}  // namespace

std::string seal_json(const nlohmann::ordered_json& json) {
  std::string text = json.dump(kIndent);
  text.resize(text.size() - kEndOfObject.size());
  const std::string digest = sha256(bytes_of(text)).hex();
  text += kBeforeDigest;
  text += digest;
  text += kAfterDigest;
  return text;
}

Seal seal_of(std::string_view text) {
  if (text.size() < kSealBytes) return Seal::none;
  const std::string_view seal = text.substr(text.size() - kSealBytes);
  if (!seal.starts_with(kBeforeDigest) || !seal.ends_with(kAfterDigest)) return Seal::none;
  const Sha256 digest = sha256(bytes_of(text.substr(0, text.size() - kSealBytes)));
  return seal.substr(kBeforeDigest.size(), kDigits) == digest.hex() ? Seal::whole : Seal::broken;
}

bool says_known_format(const Store& store, const FileName& name) {
  constexpr std::size_t kBeginning = 64;
  const auto reader = store.open(name);
  if (!reader) return false;
  std::string text(std::min<std::uint64_t>(kBeginning, (*reader)->size_bytes()), '\0');
  if (!(*reader)->read(0, std::as_writable_bytes(std::span(text)))) return false;
  return text.find("\"format\": 1,") != std::string::npos || text.find("\"format\": 2,") != std::string::npos;
}

Status write_json_text(Store& store, const FileName& name, const std::string& text, std::uint64_t most_bytes) {
  if (text.size() <= most_bytes) return write_text(store, name, text);
  return fail(Code::invalid_argument,
              fmt::format("{} would be {} bytes long, should be at most {}", name.path, text.size(), most_bytes),
              "use fewer ranks, or ranks in the order of their nodes");
}

}  // namespace cairn
