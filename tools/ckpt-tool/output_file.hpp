// A file that a command makes for other programs: its bytes are mapped. It gets its name once it is whole.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace ckpt_tool {

// While it is made, the file is called `<path>.part`. Dropped without commit(), that is removed.
class OutputFile {
 public:
  // Makes it with zeros and this length; or takes `<path>.part` as it is, and makes room for `bytes`. An error: `path`
  // exists, or there is no room.
  enum class Part { make, take };
  static cairn::Result<OutputFile> open(const std::string& path, std::uint64_t bytes, Part part = Part::make);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) = delete;
  ~OutputFile();

  [[nodiscard]] cairn::MutableBytes bytes() { return {data_, size_}; }
  [[nodiscard]] cairn::Status commit();

 private:
  OutputFile(std::string path, std::byte* data, std::uint64_t bytes);

  std::string path_;
  std::byte* data_ = nullptr;
  std::uint64_t size_ = 0;
  bool open_ = true;
};

// Where it is made.
[[nodiscard]] std::string part_of(const std::string& path);
// An error if something has that name.
[[nodiscard]] cairn::Status check_is_free(const std::string& path);

}  // namespace ckpt_tool
