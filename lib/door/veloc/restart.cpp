#include "door/veloc/restart.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <cairn/error.hpp>

namespace cairn::door {

Restart::Restart(std::string name, StoredVersion stored, std::string file)
    : name_(std::move(name)), stored_(std::move(stored)), file_(std::move(file)) {}

// The program has read it.
Restart::~Restart() {
  std::error_code ignored;
  if (stored_.has_file) std::filesystem::remove(file_, ignored);
}

std::uint64_t Restart::bytes_of(int id) const {
  const auto found = std::ranges::find(stored_.memory, id, &StoredMemory::id);
  return found == stored_.memory.end() ? 0 : found->bytes;
}

Content Restart::place(const Group& group, const Choice& choice) {
  Content content{.pieces = {}, .file = stored_.has_file ? file_ : std::string()};
  reads_.clear();
  for (const StoredMemory& stored : stored_.memory) {
    const bool wanted = choice.has(stored.id);
    const auto known = group.find(stored.id);
    if (wanted && known == group.end())
      throw Exception(ErrorKind::usage, fmt::format("region {} is in version {} of {}, but is not protected", stored.id,
                                                    stored_.version, name_));
    if (wanted && !known->second.load) {
      const Memory& memory = known->second;
      if (memory.bytes < stored.bytes)
        throw Exception(ErrorKind::usage,
                        fmt::format("region {} has {} bytes in version {} of {}, but {} are protected", stored.id,
                                    stored.bytes, stored_.version, name_, memory.bytes));
      content.pieces.push_back({stored.id, memory.data, stored.bytes});
      continue;
    }
    Read& read = reads_.emplace_back(Read{stored.id, wanted, std::vector<char>(stored.bytes)});
    content.pieces.push_back({stored.id, read.bytes.data(), stored.bytes});
  }
  return content;
}

void Restart::take(const Group& group) {
  for (Read& read : std::exchange(reads_, {})) {
    if (!read.wanted) continue;
    std::istringstream in(std::string(read.bytes.begin(), read.bytes.end()), std::ios::binary);
    if (!group.at(read.id).load(in))
      throw Exception(ErrorKind::corrupt, fmt::format("the deserializer of region {} cannot read version {} of {}",
                                                      read.id, stored_.version, name_));
  }
}

}  // namespace cairn::door
