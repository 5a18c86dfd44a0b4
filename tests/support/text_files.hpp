// Small files of a program in a test, written and read as a whole.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

namespace cairn::test {

inline void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

// "missing" if it cannot be opened.
inline std::string text_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return in ? std::string(std::istreambuf_iterator<char>(in), {}) : "missing";
}

}  // namespace cairn::test
