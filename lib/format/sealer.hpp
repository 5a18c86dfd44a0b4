// How the JSON files of a job are sealed: by a digest, and, where the job has a key ([integrity] key_file), by a code
// that nobody can make without it. With a key no file counts that has no such code, or another's; without one, none
// that has. Both are Code::untrusted: they are kept, as files of a newer format are, and never taken for damaged or
// absent.
//
// The code is also of the job's name and of the chain of snapshots (chain.json of the store), so a file of one job or
// chain is no file of another's. All else that says whose a file is, is in it, and is compared with where it lies by
// whoever reads it. FORMAT.md has the bytes.
//
// A value; copies share the key. Thread-safe. Local.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/secret_key.hpp"

namespace cairn {

class Sealer {
 public:
  // Without a key.
  Sealer() = default;
  Sealer(std::shared_ptr<const SecretKey> key, std::string job) : key_(std::move(key)), job_(std::move(job)) {}

  // The same for files of this chain; its mark itself is of none.
  [[nodiscard]] Sealer of_chain(RunId id) const;
  // Where no mark tells which it is: with a key, a file there cannot be told from anybody's, and fails as the mark
  // does. Code::corrupt: it is lost or damaged; Code::io: it cannot be read now.
  [[nodiscard]] Sealer of_unknown_chain(Code why) const;

  [[nodiscard]] bool has_key() const { return key_ != nullptr; }
  // Of the files that it seals.
  [[nodiscard]] std::uint64_t format() const;
  // The object as text that ends with its seal; `json` has a key or more, and none of a seal.
  [[nodiscard]] std::string seal(const nlohmann::ordered_json& json) const;
  // Whether these are the bytes of a file that was sealed so, as far as that can be told before it is parsed. One that
  // has the right digest and says a newer format is that, and not untrusted. False: it has no digest, as in format 1,
  // or it is damaged, or not ours.
  [[nodiscard]] Result<bool> check(std::string_view text) const;
  // Says which key it is, and nothing of it; 0: none. To compare keys by.
  [[nodiscard]] std::uint64_t key_mark() const;

 private:
  [[nodiscard]] Sha256 code_of(std::string_view text) const;

  std::shared_ptr<const SecretKey> key_;
  std::string job_;
  std::string chain_;                  // 16 hex digits; empty: of none
  std::optional<Code> chain_unknown_;  // why
};

// Of the job's marks, with the key in that file (store/key_file); no file: without a key.
[[nodiscard]] Result<Sealer> make_sealer(const std::string& key_file, const std::string& job);

}  // namespace cairn
