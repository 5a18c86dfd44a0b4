#include "door/veloc/restart.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <cairn/error.hpp>

namespace cairn::door {

Restart::Restart(std::string name, StoredVersion stored, std::string path, OpenSnapshot open)
    : name_(std::move(name)), stored_(std::move(stored)), path_(std::move(path)), open_(std::move(open)) {}

// The program has read it.
Restart::~Restart() {
  std::error_code ignored;
  if (has_put_file_) std::filesystem::remove(path_, ignored);
}

std::uint64_t Restart::bytes_of(int id) const {
  const auto found = std::ranges::find(stored_.memory, id, &StoredMemory::id);
  return found == stored_.memory.end() ? 0 : found->bytes;
}

void Restart::check(const Group& group, const Choice& choice) const {
  for (const StoredMemory& stored : stored_.memory) {
    if (!choice.has(stored.id)) continue;
    const auto known = group.find(stored.id);
    if (known == group.end())
      throw Exception(ErrorKind::usage, fmt::format("region {} is in version {} of {}, but is not protected", stored.id,
                                                    stored_.version, name_));
    if (!known->second.load && known->second.bytes < stored.bytes)
      throw Exception(ErrorKind::usage,
                      fmt::format("region {} has {} bytes in version {} of {}, but {} are protected", stored.id,
                                  stored.bytes, stored_.version, name_, known->second.bytes));
  }
}

void Restart::recover(const Group& group, const Choice& choice) const {
  check(group, choice);
  for (const StoredMemory& stored : stored_.memory) {
    if (!choice.has(stored.id)) continue;
    const Memory& memory = group.at(stored.id);
    const bool is_there = stored.bytes > 0;  // snapshots do not contain empty regions
    if (!memory.load) {
      if (is_there) open_->read(region_of(stored.id), memory.data, stored.bytes);
      continue;
    }
    std::string bytes(stored.bytes, '\0');
    if (is_there) open_->read(region_of(stored.id), bytes.data(), bytes.size());
    std::istringstream in(std::move(bytes), std::ios::binary);
    if (!memory.load(in))
      throw Exception(ErrorKind::corrupt, fmt::format("the deserializer of region {} cannot read version {} of {}",
                                                      stored.id, stored_.version, name_));
  }
}

const std::string& Restart::put_file() {
  if (!stored_.has_file)
    throw Exception(ErrorKind::usage, fmt::format("version {} of {} has no file of this rank", stored_.version, name_));
  if (!has_put_file_) open_->extract(kFileRegion, path_);
  has_put_file_ = true;
  return path_;
}

}  // namespace cairn::door
