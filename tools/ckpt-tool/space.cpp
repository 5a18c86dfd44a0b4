#include "space.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <numeric>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "store/names.hpp"
#include "text.hpp"

namespace ckpt_tool {
namespace {

namespace fs = std::filesystem;
namespace names = cairn::names;
using Kind = Space::Kind;

struct Words {
  std::string_view text;
  const char* json;
};

Words words_of(Kind kind) {
  switch (kind) {
    case Kind::shards: return {"shards", "shards"};
    case Kind::copies: return {"copies", "copies"};
    case Kind::parity: return {"parity", "parity"};
    case Kind::hdf5: return {"HDF5 files", "hdf5"};
    case Kind::recycled: return {"kept for the next snapshots", "recycled"};
    case Kind::other: break;
  }
  return {"other files", "other"};
}

std::time_t time_of(fs::file_time_type time) {
  const auto age = fs::file_time_type::clock::now() - time;
  const auto then = std::chrono::system_clock::now() - std::chrono::duration_cast<std::chrono::seconds>(age);
  return std::chrono::system_clock::to_time_t(then);
}

Kind kind_of(const fs::path& store, const fs::path& file) {
  const fs::path directory = file.parent_path();
  if (directory == store / "recycle") return Kind::recycled;
  if (directory.parent_path() != store || !names::parse_snapshot(directory.filename().string())) return Kind::other;
  const std::string name = file.filename().string();
  if (names::parse_shard(name)) return Kind::shards;
  if (names::parse_copy(name)) return Kind::copies;
  if (names::parse_parity(name)) return Kind::parity;
  return file.extension() == ".h5" ? Kind::hdf5 : Kind::other;
}

std::string line_of(std::string_view stores, const Space& space) {
  std::string kinds;
  for (const Kind kind : Space::kKinds) {
    if (space.of(kind) == 0) continue;
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", words_of(kind).text, size_text(space.of(kind)));
  }
  return fmt::format("{} {}: {}\n", stores, size_text(space.all()), kinds);
}

Json json_of(const Space& space) {
  Json json = Json::object();
  for (const Kind kind : Space::kKinds) json[words_of(kind).json] = space.of(kind);
  return json;
}

}  // namespace

std::uint64_t Space::used() const {
  return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0}) - of(Kind::recycled);
}

Space& Space::operator+=(const Space& other) {
  std::ranges::transform(bytes, other.bytes, bytes.begin(), std::plus());
  written = std::max(written, other.written);
  return *this;
}

Space measure_space(const std::string& directory) {
  Space space;
  const fs::path store(directory);
  std::error_code error;
  fs::recursive_directory_iterator it(store, fs::directory_options::skip_permission_denied, error);
  for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    if (!it->is_regular_file(gone) || it->is_symlink(gone)) continue;
    const std::uint64_t bytes = it->file_size(gone);
    if (gone) continue;
    const Kind kind = kind_of(store, it->path());
    space.bytes.at(static_cast<std::size_t>(kind)) += bytes;
    const auto written = it->last_write_time(gone);
    if (kind != Kind::recycled && !gone) space.written = std::max(space.written, time_of(written));
  }
  return space;
}

JobSpace measure_space(const OpenStores& opened) {
  JobSpace space;
  for (const auto& store : opened.stores.nodes) space.nodes += measure_space(store->where());
  if (opened.stores.global) space.global = measure_space(opened.stores.global->where());
  return space;
}

std::string space_text(const JobSpace& space) {
  std::string text;
  if (space.nodes.all() > 0) text += line_of("node stores take", space.nodes);
  if (space.global.all() > 0) text += line_of("the global store takes", space.global);
  return text;
}

Json space_json(const JobSpace& space) {
  return {{"node_stores", json_of(space.nodes)}, {"global_store", json_of(space.global)}};
}

}  // namespace ckpt_tool
