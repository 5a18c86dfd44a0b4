#include "store/default_root.hpp"

#include <unistd.h>

namespace cairn {

std::string default_node_root() { return with_user_number("/dev/shm/cairn-<uid>"); }

std::string with_user_number(std::string_view root) {
  constexpr std::string_view kMark = "<uid>";
  std::string text(root);
  const std::string number = std::to_string(::geteuid());
  for (std::size_t at = text.find(kMark); at != std::string::npos; at = text.find(kMark, at + number.size())) {
    text.replace(at, kMark.size(), number);
  }
  return text;
}

}  // namespace cairn
