#include "base/text_file.hpp"

#include <array>
#include <cerrno>
#include <fstream>
#include <system_error>

namespace cairn {

Result<std::string> read_text_file(const std::string& file, Code failed) {
  std::ifstream in(file, std::ios::binary);
  std::string text;
  std::array<char, 4096> block{};
  // A directory can be opened too; the first read shows that it is not a file.
  while (in.is_open() && (in.read(block.data(), block.size()) || in.gcount() > 0)) {
    text.append(block.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (!in.is_open() || in.bad()) {
    return fail_in_file(failed, file, "cannot be read: " + std::error_code(errno, std::generic_category()).message());
  }
  return text;
}

}  // namespace cairn
