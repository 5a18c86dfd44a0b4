// A key file of a test's own.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "support/temp_directory.hpp"

namespace cairn::test {

class KeyFile {
 public:
  // 40 bytes that begin with `text`, in a file that only its owner may read.
  explicit KeyFile(std::string text) : key_(std::move(text)) {
    for (char more = 'a'; key_.size() < 40; ++more) key_ += more;
    std::ofstream(path(), std::ios::binary) << key_;
    std::filesystem::permissions(path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }
  [[nodiscard]] std::string path() const { return directory_.path() + "/key"; }
  [[nodiscard]] const std::string& key() const { return key_; }
  // The line of the configuration.
  [[nodiscard]] std::string setting() const { return "[integrity]\nkey_file = " + path() + "\n"; }

 private:
  TempDirectory directory_{"/tmp"};
  std::string key_;
};

}  // namespace cairn::test
