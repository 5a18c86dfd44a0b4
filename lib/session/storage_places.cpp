#include "session/storage_places.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace cairn {
namespace {

namespace fs = std::filesystem;

fs::path resolved(const std::string& path) {
  std::error_code error;
  const fs::path place = fs::weakly_canonical(absolute_place(path), error);
  const fs::path found = error ? fs::path(absolute_place(path)) : place;
  return found.has_filename() ? found : found.parent_path();
}

bool holds(const fs::path& outer, const fs::path& inner) {
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

}  // namespace

std::string absolute_place(const std::string& path) {
  std::error_code error;
  const fs::path place = fs::absolute(path, error);
  return error ? path : place.lexically_normal().string();
}

std::string place_of_node(const Config& config, const std::string& node) {
  const std::string place = absolute_place(config.storage.local);
  return config.topology.node_size.empty() ? place : place + "/" + node;
}

Status check_places(const std::string& local, const std::string& global) {
  const fs::path node = resolved(local);
  const fs::path shared = resolved(global);
  if (!holds(node, shared) && !holds(shared, node)) return {};
  const char* how = node == shared ? "are the same directory" : "overlap";
  return fail(Code::config,
              fmt::format("[storage] local = {} and global = {} {}: {} and {}", local, global, how, node.string(),
                          shared.string()),
              "set global to a separate directory on the parallel file system");
}

}  // namespace cairn
