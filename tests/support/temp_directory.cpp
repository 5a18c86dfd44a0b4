#include "support/temp_directory.hpp"

#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace cairn::test {

TempDirectory::TempDirectory(const std::string& parent) {
  std::string name = parent + "/cairn-test-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), name);
  path_ = name;
}

TempDirectory::~TempDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace cairn::test
