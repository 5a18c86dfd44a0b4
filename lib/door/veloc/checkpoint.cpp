#include "door/veloc/checkpoint.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <cairn/error.hpp>

namespace cairn::door {

// What has been written stays at its address.
Checkpoint::Checkpoint(Checkpoint&& other) noexcept
    : name_(std::move(other.name_)),
      version_(other.version_),
      written_(std::move(other.written_)),
      content_(std::exchange(other.content_, {})) {}

// The snapshot has its contents.
Checkpoint::~Checkpoint() {
  std::error_code ignored;
  if (!content_.file.empty()) std::filesystem::remove(content_.file, ignored);
}

// A later call may choose a region again.
void Checkpoint::put(Piece piece) {
  const auto known = std::ranges::find(content_.pieces, piece.id, &Piece::id);
  if (known == content_.pieces.end())
    content_.pieces.push_back(piece);
  else
    *known = piece;
}

void Checkpoint::add(const Group& group, const Choice& choice) {
  bool found = false;
  for (const auto& [id, memory] : group) {
    if (!choice.has(id)) continue;
    found = true;
    if (!memory.save) {
      put({id, memory.data, memory.bytes});
      continue;
    }
    std::ostringstream out(std::ios::binary);
    memory.save(out);
    if (!out) throw Exception(ErrorKind::usage, fmt::format("the serializer of region {} has failed", id));
    std::string& bytes = written_.emplace_back(std::move(out).str());
    put({id, bytes.data(), bytes.size()});
  }
  if (!found) {
    throw Exception(ErrorKind::usage,
                    fmt::format("checkpoint {} of {} would contain no memory: protect a region, or choose one that is "
                                "protected",
                                version_, name_));
  }
}

}  // namespace cairn::door
