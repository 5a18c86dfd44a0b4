#include "format/sealer.hpp"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "format/json_file.hpp"
#include "format/json_text.hpp"
#include "store/key_file.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

constexpr int kIndent = 1;
constexpr std::string_view kEndOfObject = "\n}";
constexpr std::string_view kBeforeCode = ",\n \"hmac-sha256\": \"";
constexpr std::string_view kAfterCode = "\"";
constexpr std::size_t kCodeBytes = kBeforeCode.size() + kDigestDigits + kAfterCode.size();
// Separates codes of files from codes of other things that may be made with the same key.
constexpr std::string_view kCodeOfFile = "cairn file";
constexpr std::string_view kCodeOfKey = "cairn key";

// The text that the code covers, and the code's digits; no digits: the text has no code.
std::pair<std::string_view, std::string_view> split_off_code(std::string_view text) {
  if (text.size() < kCodeBytes + kSealBytes) return {};
  text.remove_suffix(kSealBytes);
  const std::string_view code = text.substr(text.size() - kCodeBytes);
  if (!code.starts_with(kBeforeCode) || !code.ends_with(kAfterCode)) return {};
  text.remove_suffix(kCodeBytes);
  return {text, code.substr(kBeforeCode.size(), kDigestDigits)};
}

}  // namespace

std::uint64_t Sealer::format(const Formats& formats) const { return has_key() ? formats.keyed : formats.plain; }

std::string Sealer::seal(const nlohmann::ordered_json& json) const {
  std::string text = json_text(json, kIndent);
  text.resize(text.size() - kEndOfObject.size());
  if (has_key()) text += fmt::format("{}{}{}", kBeforeCode, code_of(text).hex(), kAfterCode);
  const std::string digest = sha256(bytes_of(text)).hex();
  text += kBeforeDigest;
  text += digest;
  text += kAfterDigest;
  return text;
}

Result<bool> Sealer::check(std::string_view text) const {
  const SealState seal = seal_of(text);
  if (seal == SealState::broken) return fail(Code::corrupt, "its bytes do not match its sha256");
  const std::uint64_t format = format_said(text).value_or(0);
  if (seal == SealState::none && format != 1) return false;
  if (format > kNewestFormat) return fail_newer_format("format", format, kNewestFormat);
  const auto [sealed_text, code] = split_off_code(text);
  if (!has_key()) {
    if (code.empty()) return seal == SealState::whole;
    return fail(Code::untrusted, "it is sealed with a key", "set [integrity] key_file to the file with that key");
  }
  if (code.empty()) {
    return fail(Code::untrusted, "it is not sealed with a key, but [integrity] key_file is set",
                "if it was written before the key was set, run without the key until the job has ended");
  }
  if (chain_unknown_) {
    return fail(*chain_unknown_, *chain_unknown_ == Code::corrupt
                                     ? "chain.json beside it, which names its chain of snapshots, is missing or damaged"
                                     : "chain.json beside it, which names its chain of snapshots, cannot be read");
  }
  const auto is = Sha256::from_hex(code);
  if (is && same_code(*is, code_of(sealed_text))) return true;
  return fail(Code::untrusted, "it was sealed with another key, for another job or chain, or it was changed",
              "set [integrity] key_file and [job] name to what they were when it was written");
}

// Neither job nor chain contains a zero byte, so the zeros separate the parts without ambiguity.
Sha256 Sealer::code_of(std::string_view text) const {
  const Bytes zero = bytes_of(std::string_view("\0", 1));
  return key_->code_of({bytes_of(kCodeOfFile), zero, bytes_of(job_), zero, bytes_of(chain_), zero, bytes_of(text)});
}

Sealer Sealer::of_chain(RunId id) const {
  Sealer sealer = *this;
  sealer.chain_ = names::hex(id);
  return sealer;
}

Sealer Sealer::of_unknown_chain(Code why) const {
  Sealer sealer = *this;
  sealer.chain_unknown_ = why;
  return sealer;
}

std::uint64_t Sealer::key_mark() const {
  if (!has_key()) return 0;
  return ByteReader(key_->code_of({bytes_of(kCodeOfKey)}).bytes).get<std::uint64_t>();
}

Result<Sealer> make_sealer(const std::string& key_file, const std::string& job) {
  if (key_file.empty()) return Sealer();
  auto key = read_key_file(key_file);
  if (!key) return fail(key.error());
  return Sealer(std::make_shared<const SecretKey>(std::move(*key)), job);
}

}  // namespace cairn
