#include "support/store_image.hpp"

#include <gtest/gtest.h>

namespace cairn::test {
namespace {

void add_file(const Store& store, const std::string& path, StoreImage& image) {
  auto file = store.open(FileName{path});
  ASSERT_TRUE(file) << file.error().text();
  Buffer& bytes = image[path];
  bytes.resize((*file)->size_bytes());
  const auto read = (*file)->read(0, bytes);
  ASSERT_TRUE(read) << read.error().text();
}

void add_directory(const Store& store, const std::string& directory, StoreImage& image) {
  const auto entries = store.list(DirName{directory});
  ASSERT_TRUE(entries) << entries.error().text();
  for (const Entry& entry : *entries) {
    const std::string path = directory.empty() ? entry.name : directory + "/" + entry.name;
    if (entry.directory)
      add_directory(store, path, image);
    else
      add_file(store, path, image);
  }
}

}  // namespace

StoreImage image_of(const Store& store) {
  StoreImage image;
  add_directory(store, "", image);
  return image;
}

void write_image(Store& store, const StoreImage& image) {
  for (const auto& [path, bytes] : image) {
    auto writer = store.create(FileName{path}, bytes.size(), {});
    ASSERT_TRUE(writer) << writer.error().text();
    const auto written = (*writer)->write(0, bytes);
    ASSERT_TRUE(written) << written.error().text();
    const auto committed = (*writer)->commit(bytes.size(), false);
    ASSERT_TRUE(committed) << committed.error().text();
  }
}

void put_back(MemoryStore& store, const StoreImage& image) {
  store.wipe();
  write_image(store, image);
}

std::vector<std::string> differences(const StoreImage& before, const StoreImage& after) {
  std::vector<std::string> paths;
  for (const auto& [path, bytes] : before) {
    const auto found = after.find(path);
    if (found == after.end() || found->second != bytes) paths.push_back(path);
  }
  for (const auto& [path, bytes] : after) {
    if (!before.contains(path)) paths.push_back(path);
  }
  return paths;
}

}  // namespace cairn::test
