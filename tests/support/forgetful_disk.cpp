#include "support/forgetful_disk.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

namespace cairn::test {
namespace {

constexpr std::uint64_t kSector = 512;
constexpr std::uint64_t kInvalidatedBytes = 4 * kKiB;

std::string directory_name(const std::string& path) { return path.substr(0, path.find('/')); }
bool is_at_top(const std::string& path) { return path.find('/') == std::string::npos; }
std::string last_name(const std::string& path) { return is_at_top(path) ? path : path.substr(path.find('/') + 1); }

void put(Buffer& bytes, std::uint64_t offset, Bytes piece) {
  if (bytes.size() < offset + piece.size()) bytes.resize(offset + piece.size());
  std::ranges::copy(piece, bytes.begin() + static_cast<std::ptrdiff_t>(offset));
}

// Applies a change, but for the lengths and sectors that `keeps` does not.
template <class Keeps>
void apply(const ForgetfulDisk::Change& change, Buffer& bytes, Keeps keeps) {
  if (change.length) {
    if (keeps()) bytes.resize(*change.length);
    return;
  }
  for (std::uint64_t from = 0; from < change.bytes.size();) {
    const std::uint64_t to_border = kSector - (change.offset + from) % kSector;
    const std::uint64_t count = std::min<std::uint64_t>(to_border, change.bytes.size() - from);
    if (keeps()) put(bytes, change.offset + from, Bytes(change.bytes).subspan(from, count));
    from += count;
  }
}

template <class Thing>
void forget_history(std::map<std::string, std::vector<Thing>>& names) {
  for (auto& [name, history] : names) history.erase(history.begin(), history.end() - 1);
  std::erase_if(names, [](const auto& name) { return name.second.front() == nullptr; });
}

template <class Thing>
void add(std::map<std::string, std::vector<Thing>>& names, const std::string& name, Thing thing) {
  auto& history = names[name];
  if (history.empty()) history.push_back(nullptr);
  history.push_back(std::move(thing));
}

}  // namespace

Buffer ForgetfulDisk::Inode::now() const {
  Buffer bytes = synced;
  for (const Change& change : since) apply(change, bytes, [] { return true; });
  return bytes;
}

// What is left after a power cut: the same file has the same bytes, whatever its names.
class ForgetfulDisk::Survivors {
 public:
  explicit Survivors(std::uint64_t seed) : random_(seed) {
    constexpr std::array<double, 4> kChances = {0.5, 0.1, 0.9, 0.0};
    chance_ = seed == 0 ? 0 : kChances.at(seed % kChances.size());
  }

  template <class Thing>
  const std::shared_ptr<Thing>& choose(const std::vector<std::shared_ptr<Thing>>& history) {
    if (is_new()) return history.back();
    if (chance_ == 0) return history.front();
    return history[std::uniform_int_distribution<std::size_t>(0, history.size() - 1)(random_)];
  }
  const Buffer& bytes_of(const File& file) {
    const auto [found, first] = bytes_.try_emplace(file, file->synced);
    if (first) {
      for (const Change& change : file->since) apply(change, found->second, [this] { return is_new(); });
    }
    return found->second;
  }

 private:
  bool is_new() { return std::bernoulli_distribution(chance_)(random_); }

  std::mt19937_64 random_;
  double chance_ = 0;
  std::map<File, Buffer> bytes_;
};

template <class Thing>
std::shared_ptr<Thing> ForgetfulDisk::now(const Names<Thing>& names, const std::string& name) {
  const auto found = names.find(name);
  return found == names.end() ? nullptr : found->second.back();
}

ForgetfulDisk::ForgetfulDisk(MemoryStore& store) : store_(store) { reload(); }

ForgetfulDisk::Directory* ForgetfulDisk::directory_of_path(const std::string& path, bool make) {
  if (is_at_top(path)) return &top_;
  auto there = now(directories_, directory_name(path));
  if (!there && make) {
    there = std::make_shared<Directory>();
    add(directories_, directory_name(path), there);
  }
  return there.get();
}

ForgetfulDisk::File ForgetfulDisk::find(const std::string& path) {
  const Directory* const directory = directory_of_path(path, false);
  return directory == nullptr ? nullptr : now(directory->files, last_name(path));
}

// The choice of a PosixStore: the smallest that is large enough, else the largest.
ForgetfulDisk::File ForgetfulDisk::claim(const std::string& owner, std::uint64_t size_bytes) {
  const auto [begin, end] = retired_.equal_range(owner);
  if (begin == end || owner.empty()) return nullptr;
  const auto best = std::min_element(begin, end, [&](const auto& a, const auto& b) {
    const auto key = [&](const File& file) {
      const std::uint64_t size = file->now().size();
      const bool small = size < size_bytes;
      return std::tuple(small, small ? ~size : size);
    };
    return key(a.second) < key(b.second);
  });
  const File file = best->second;
  retired_.erase(best);
  return file;
}

ForgetfulDisk::File ForgetfulDisk::make(const std::string& path, std::uint64_t size_bytes, const std::string& owner) {
  const std::scoped_lock lock(mutex_);
  (void)directory_of_path(path, true);
  File file = claim(owner, size_bytes);
  if (!file) file = std::make_shared<Inode>();
  if (file->now().size() < size_bytes) file->since.push_back({0, {}, size_bytes});
  return file;
}

void ForgetfulDisk::give_back(const File& file, const std::string& owner) {
  const std::scoped_lock lock(mutex_);
  if (!owner.empty()) retired_.emplace(owner, file);
}

void ForgetfulDisk::write(const File& file, std::uint64_t offset, Bytes bytes) {
  const std::scoped_lock lock(mutex_);
  file->since.push_back({offset, Buffer(bytes.begin(), bytes.end()), {}});
}

void ForgetfulDisk::set_length(const File& file, std::uint64_t size_bytes) {
  const std::scoped_lock lock(mutex_);
  file->since.push_back({0, {}, size_bytes});
}

void ForgetfulDisk::sync(const File& file) {
  const std::scoped_lock lock(mutex_);
  file->synced = file->now();
  file->since.clear();
}

void ForgetfulDisk::name(const File& file, const std::string& path) {
  const std::scoped_lock lock(mutex_);
  if (Directory* const directory = directory_of_path(path, false)) add(directory->files, last_name(path), file);
}

void ForgetfulDisk::sync_names(const std::string& path) {
  {
    const std::scoped_lock lock(mutex_);
    if (Directory* const directory = directory_of_path(path, false)) forget_history(directory->files);
  }
  sync_top();
}

void ForgetfulDisk::sync_top() {
  const std::scoped_lock lock(mutex_);
  forget_history(top_.files);
  forget_history(directories_);
}

void ForgetfulDisk::write(const std::string& path, std::uint64_t offset, Bytes bytes) {
  std::unique_lock lock(mutex_);
  const File file = find(path);
  lock.unlock();
  if (file) write(file, offset, bytes);
}

void ForgetfulDisk::sync(const std::string& path) {
  std::unique_lock lock(mutex_);
  const File file = find(path);
  lock.unlock();
  if (file) sync(file);
}

void ForgetfulDisk::unname(const std::string& path) {
  Directory* const directory = directory_of_path(path, false);
  if (directory != nullptr && now(directory->files, last_name(path)))
    add<File>(directory->files, last_name(path), nullptr);
}

void ForgetfulDisk::retire(const std::string& path, const std::string& owner) {
  const std::scoped_lock lock(mutex_);
  const File file = find(path);
  if (!file) return;
  unname(path);
  if (owner.empty()) return;
  const Buffer zeros(std::min<std::uint64_t>(kInvalidatedBytes, file->now().size()));
  file->since.push_back({0, zeros, {}});
  retired_.emplace(owner, file);
}

void ForgetfulDisk::remove(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  unname(path);
}

void ForgetfulDisk::remove_directory(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  const auto directory = now(directories_, path);
  if (!directory) return;
  for (auto& [name, history] : directory->files) {
    if (history.back()) history.push_back(nullptr);
  }
  add<std::shared_ptr<Directory>>(directories_, path, nullptr);
}

void ForgetfulDisk::rename_directory(const std::string& from, const std::string& to) {
  const std::scoped_lock lock(mutex_);
  const auto directory = now(directories_, from);
  if (!directory) return;
  add<std::shared_ptr<Directory>>(directories_, from, nullptr);
  add(directories_, to, directory);
}

void ForgetfulDisk::clean() {
  const std::scoped_lock lock(mutex_);
  retired_.clear();
}

// A directory that is renamed is never in both places, nor in none if it was synced in the first.
std::map<std::string, std::shared_ptr<ForgetfulDisk::Directory>> ForgetfulDisk::keep_directories(Survivors& survivors) {
  std::map<std::string, std::shared_ptr<Directory>> kept;
  std::set<std::shared_ptr<Directory>> placed;
  for (const auto& [name, history] : directories_) {
    const auto directory = survivors.choose(history);
    if (directory && placed.insert(directory).second) kept[name] = directory;
  }
  for (const auto& [name, history] : directories_) {
    const auto& directory = history.back();
    const auto was_synced = [&](const auto& entry) { return entry.second.front() == directory; };
    if (!directory || placed.contains(directory) || kept.contains(name)) continue;
    if (std::ranges::any_of(directories_, was_synced)) kept[name] = directory;
  }
  return kept;
}

void ForgetfulDisk::lose_power(std::uint64_t seed) {
  Survivors survivors(seed);
  StoreImage image;
  std::set<std::string> empty;
  const auto keep_files = [&](const Directory& directory, const std::string& prefix) {
    for (const auto& [name, history] : directory.files) {
      if (const File file = survivors.choose(history)) image[prefix + name] = survivors.bytes_of(file);
    }
  };
  keep_files(top_, "");
  for (const auto& [name, directory] : keep_directories(survivors)) {
    const std::size_t before = image.size();
    keep_files(*directory, name + "/");
    if (image.size() == before) empty.insert(name);
  }
  put_back(store_, image);
  for (const std::string& name : empty) {
    const auto dropped = store_.create(FileName{name + "/none"}, 0, {});
    ASSERT_TRUE(dropped) << dropped.error().text();
  }
  reload();
}

void ForgetfulDisk::reload() {
  const std::scoped_lock lock(mutex_);
  retired_.clear();
  top_ = {};
  directories_.clear();
  for (auto& [path, bytes] : image_of(store_)) {
    auto file = std::make_shared<Inode>();
    file->synced = std::move(bytes);
    directory_of_path(path, true)->files[last_name(path)] = {std::move(file)};
  }
  for (auto& [name, history] : directories_) history.erase(history.begin());
}

}  // namespace cairn::test
