// How the JSON files of a job are sealed: by a digest, and, where the job has a key ([integrity] key_file), by a code
// that nobody can make without it. If the job has a key, a file without that code, or with another code, does not
// count. If it has none, a file with a code does not count. Both are Code::untrusted: like files of a newer format they
// are kept, and never treated as damaged or absent.
//
// The code also covers the job's name and the chain of snapshots (chain.json of the store), so a file of one job or
// chain is not valid in another. Everything else that identifies a file is in its text; the reader compares it with the
// place where the file lies. FORMAT.md has the bytes.
//
// A value; copies share the key. Thread-safe. Local.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/secret_key.hpp"

namespace cairn {

// The formats of a kind of file, without a key and with one (format/json_file).
struct Formats {
  std::uint64_t plain;
  std::uint64_t keyed;
};

class Sealer {
 public:
  // Without a key.
  Sealer() = default;
  Sealer(std::shared_ptr<const SecretKey> key, std::string job) : key_(std::move(key)), job_(std::move(job)) {}

  // The same for files of this chain. The chain's mark itself belongs to no chain.
  [[nodiscard]] Sealer of_chain(RunId id) const;
  // For files beside which no mark says the chain. With a key, such a file cannot be checked, and fails with `why`:
  // Code::corrupt if the mark is lost or damaged, Code::io if it cannot be read now.
  [[nodiscard]] Sealer of_unknown_chain(Code why) const;

  [[nodiscard]] bool has_key() const { return key_ != nullptr; }
  // Which of the two formats of a kind of file is that of the files that it seals.
  [[nodiscard]] std::uint64_t format(const Formats& formats) const;
  // The object as text that ends with its seal. `json` has at least one key, and no key of a seal.
  [[nodiscard]] std::string seal(const nlohmann::ordered_json& json) const;
  // Whether a file was sealed by this sealer, as far as its text shows it before it is parsed. A file with the right
  // digest and a newer format is Code::newer_format, not Code::untrusted. False: the text has no digest, because it is
  // of format 1, damaged, or not a file of Cairn.
  [[nodiscard]] Result<bool> check(std::string_view text) const;
  // A number for comparing keys, which reveals nothing about the key; 0: no key.
  [[nodiscard]] std::uint64_t key_mark() const;

 private:
  [[nodiscard]] Sha256 code_of(std::string_view text) const;

  std::shared_ptr<const SecretKey> key_;
  std::string job_;
  std::string chain_;                  // 16 hex digits; empty: of none
  std::optional<Code> chain_unknown_;  // why
};

// The sealer of the job's marks, with the key in that file (store/key_file). An empty name: without a key.
[[nodiscard]] Result<Sealer> make_sealer(const std::string& key_file, const std::string& job);

}  // namespace cairn
