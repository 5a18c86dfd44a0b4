#include "store/memory/memory_store.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "store/memory/memory_state.hpp"

namespace cairn {

namespace {

constexpr std::uint64_t kInvalidatedBytes = 4 * kKiB;

class MemoryReader final : public Reader {
 public:
  // The caller has counted it among the file's readers.
  MemoryReader(MemoryFilePtr file, std::string path)
      : file_(std::move(file)), path_(std::move(path)), size_bytes_(file_->bytes.size()) {}
  ~MemoryReader() override { --file_->readers; }
  MemoryReader(const MemoryReader&) = delete;
  MemoryReader& operator=(const MemoryReader&) = delete;

  [[nodiscard]] std::uint64_t size_bytes() const override { return size_bytes_; }
  Status read(std::uint64_t offset, MutableBytes into) const override {
    const std::lock_guard guard(file_->mutex);
    const Bytes bytes = file_->bytes;
    if (offset > bytes.size() || into.size() > bytes.size() - offset) {
      return fail_in_file(Code::corrupt, path_,
                          fmt::format("has {} bytes; cannot read {} bytes at {}", bytes.size(), into.size(), offset));
    }
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
    return {};
  }
  [[nodiscard]] Bytes mapping() const override { return Bytes(file_->bytes).first(size_bytes_); }

 private:
  MemoryFilePtr file_;
  std::string path_;
  std::uint64_t size_bytes_;
};

class SharedMemoryFile final : public SharedFile {
 public:
  explicit SharedMemoryFile(MemoryFilePtr file) : file_(std::move(file)) {}
  [[nodiscard]] MutableBytes bytes() override { return file_->bytes; }

 private:
  MemoryFilePtr file_;
};

class MemoryLock final : public Lock {
 public:
  explicit MemoryLock(std::shared_ptr<MemoryState> state) : state_(std::move(state)) {}
  ~MemoryLock() override {
    const std::lock_guard guard(state_->mutex);
    state_->locked = false;
  }
  MemoryLock(const MemoryLock&) = delete;
  MemoryLock& operator=(const MemoryLock&) = delete;

 private:
  std::shared_ptr<MemoryState> state_;
};

class SharedBell final : public Bell {
 public:
  explicit SharedBell(std::shared_ptr<MemoryState> state) : state_(std::move(state)) {}

  void ring(Who who) override {
    const std::lock_guard guard(bell().mutex);
    ++count(who);
    bell().rung.notify_all();
  }
  [[nodiscard]] std::uint32_t rings(Who who) const override {
    const std::lock_guard guard(bell().mutex);
    return count(who);
  }
  void wait(Who who, std::uint32_t seen, std::chrono::microseconds limit) override {
    std::unique_lock guard(bell().mutex);
    // Waits by the system clock, because g++ 12's thread sanitizer does not know pthread_cond_clockwait.
    bell().rung.wait_until(guard, std::chrono::system_clock::now() + limit, [&] { return count(who) != seen; });
  }

 private:
  [[nodiscard]] MemoryBell& bell() const { return state_->bell; }
  [[nodiscard]] std::uint32_t& count(Who who) const { return bell().rings[who == Who::head ? 0 : 1]; }

  std::shared_ptr<MemoryState> state_;
};

bool is_inside(const std::string& path, const std::string& directory) { return directory_of(path) == directory; }

// A name that no POSIX store would take is refused here too, so that tests on memory find it.
Status check(const std::string& name) {
  const std::string directory = directory_of(name);
  const std::string file = directory.empty() ? name : name.substr(directory.size() + 1);
  const std::string& first = directory.empty() ? file : directory;
  const bool reserved = first == "recycle" || first == "lock" || first == "bell";
  const bool plain =
      !file.empty() && file.front() != '.' && file.find('/') == std::string::npos && first.front() != '.';
  if (plain && !reserved) return {};
  return fail(Code::invalid_argument, fmt::format("'{}' is not a name in a store; write 'file' or 'directory/file' "
                                                  "without a leading '.', and not recycle, lock or bell",
                                                  name));
}

}  // namespace

MemoryStore::MemoryStore(std::uint64_t capacity_bytes, std::string where) : state_(std::make_shared<MemoryState>()) {
  state_->capacity_bytes = capacity_bytes;
  state_->where = std::move(where);
}
MemoryStore::~MemoryStore() = default;

void MemoryStore::wipe() {
  const std::lock_guard guard(state_->mutex);
  state_->files.clear();
  state_->directories.clear();
  state_->retired.clear();
  state_->used_bytes = 0;
  ++state_->life;
}

Status MemoryStore::corrupt(const FileName& name, std::uint64_t offset) {
  const std::lock_guard guard(state_->mutex);
  const auto file = state_->find(name);
  if (!file) return fail(file.error());
  const std::lock_guard bytes_guard((*file)->mutex);
  Buffer& bytes = (*file)->bytes;
  if (offset >= bytes.size()) {
    return fail_in_file(Code::invalid_argument, state_->path_of(name.path),
                        fmt::format("has {} bytes, no byte {} to damage", bytes.size(), offset));
  }
  bytes[offset] ^= std::byte{0x10};
  return {};
}

Status MemoryStore::truncate(const FileName& name, std::uint64_t size_bytes) {
  const std::lock_guard guard(state_->mutex);
  const auto file = state_->find(name);
  if (!file) return fail(file.error());
  // A new file, so that a mapping in use stays whole.
  const std::lock_guard bytes_guard((*file)->mutex);
  const Buffer& bytes = (*file)->bytes;
  const std::uint64_t kept = std::min<std::uint64_t>(size_bytes, bytes.size());
  auto shorter = std::make_shared<MemoryFile>();
  shorter->bytes.assign(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(kept));
  state_->used_bytes -= bytes.size() - kept;
  state_->files[name.path] = std::move(shorter);
  return {};
}

Result<std::unique_ptr<Writer>> MemoryStore::create(const FileName& name, std::uint64_t size_bytes,
                                                    const std::string& owner) {
  const auto good = check(name.path);
  if (!good) return fail(good.error());

  const std::lock_guard guard(state_->mutex);
  MemoryFilePtr file = owner.empty() ? nullptr : state_->claim(owner, size_bytes);
  const bool recycled = file != nullptr;
  if (!file) file = std::make_shared<MemoryFile>();
  const std::uint64_t had = file->bytes.size();
  if (size_bytes > had) {
    const auto taken = state_->take(size_bytes - had, state_->path_of(name.path));
    if (!taken) {
      if (recycled) state_->retired.emplace(owner, std::move(file));
      return fail(taken.error());
    }
  } else {
    state_->used_bytes -= had - size_bytes;
  }
  file->bytes.resize(size_bytes);
  if (const std::string directory = directory_of(name.path); !directory.empty()) state_->directories.insert(directory);
  return write_memory(state_, name, std::move(file), owner, recycled);
}

Result<std::unique_ptr<Reader>> MemoryStore::open(const FileName& name) const {
  const auto good = check(name.path);
  if (!good) return fail(good.error());
  const std::lock_guard guard(state_->mutex);
  const auto file = state_->find(name);
  if (!file) return fail(file.error());
  ++(*file)->readers;
  return std::make_unique<MemoryReader>(*file, state_->path_of(name.path));
}

Status MemoryStore::patch(const FileName& name, std::uint64_t offset, Bytes bytes) {
  const std::lock_guard guard(state_->mutex);
  const auto file = state_->find(name);
  if (!file) return fail(file.error());
  const std::lock_guard bytes_guard((*file)->mutex);
  Buffer& have = (*file)->bytes;
  if (offset > have.size() || bytes.size() > have.size() - offset) {
    return fail_in_file(
        Code::invalid_argument, state_->path_of(name.path),
        fmt::format("has {} bytes; cannot overwrite {} bytes at {}", have.size(), bytes.size(), offset));
  }
  std::copy(bytes.begin(), bytes.end(), have.begin() + static_cast<std::ptrdiff_t>(offset));
  return {};
}

Status MemoryStore::sync(const FileName& name) {
  const std::lock_guard guard(state_->mutex);
  return state_->find(name).map([](const MemoryFilePtr&) {});
}

Result<std::vector<Entry>> MemoryStore::list(const DirName& directory) const {
  const std::lock_guard guard(state_->mutex);
  const bool top = directory.path.empty();
  std::vector<Entry> entries;
  for (const auto& [path, file] : state_->files) {
    if (!is_inside(path, directory.path)) continue;
    entries.push_back({top ? path : path.substr(directory.path.size() + 1), file->bytes.size(), false});
  }
  if (top) {
    for (const std::string& name : state_->directories) entries.push_back({name, 0, true});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
  return entries;
}

Status MemoryStore::retire(const FileName& name, const std::string& owner) {
  const std::lock_guard guard(state_->mutex);
  const auto file = state_->take_out(name.path);
  if (!file) return {};
  if (owner.empty()) {
    state_->used_bytes -= file->bytes.size();
    return {};
  }
  // A mapping that is being read here must not change under its reader: the copy is cheap enough for tests.
  auto retired = file->readers.load() == 0 ? file : std::make_shared<MemoryFile>();
  if (retired != file) retired->bytes = file->bytes;
  const auto count = std::min<std::size_t>(kInvalidatedBytes, retired->bytes.size());
  std::fill_n(retired->bytes.begin(), count, std::byte{});
  state_->retired.emplace(owner, std::move(retired));
  return {};
}

Status MemoryStore::remove(const FileName& name) {
  const std::lock_guard guard(state_->mutex);
  if (const auto file = state_->take_out(name.path)) state_->used_bytes -= file->bytes.size();
  return {};
}

Status MemoryStore::remove_directory(const DirName& name) {
  const std::lock_guard guard(state_->mutex);
  state_->directories.erase(name.path);
  std::erase_if(state_->files, [&](const auto& entry) {
    const bool inside = is_inside(entry.first, name.path);
    if (inside) state_->used_bytes -= entry.second->bytes.size();
    return inside;
  });
  return {};
}

Status MemoryStore::rename_directory(const DirName& from, const DirName& to) {
  const std::lock_guard guard(state_->mutex);
  if (!state_->directories.contains(from.path)) {
    return fail_in_file(Code::not_found, state_->path_of(from.path), "cannot be renamed: does not exist");
  }
  const auto in_target = [&](const auto& entry) { return is_inside(entry.first, to.path); };
  if (std::any_of(state_->files.begin(), state_->files.end(), in_target)) {
    return fail_in_file(Code::io, state_->path_of(from.path),
                        fmt::format("cannot become {}, which is not empty", to.path));
  }
  state_->directories.erase(from.path);
  state_->directories.insert(to.path);
  std::map<std::string, MemoryFilePtr> renamed;
  for (auto& [path, file] : state_->files) {
    renamed.emplace(is_inside(path, from.path) ? to.path + path.substr(from.path.size()) : path, std::move(file));
  }
  state_->files = std::move(renamed);
  return {};
}

Status MemoryStore::clean() {
  const std::lock_guard guard(state_->mutex);
  state_->forget_retired();
  return {};
}

Result<std::unique_ptr<Lock>> MemoryStore::lock() {
  const std::lock_guard guard(state_->mutex);
  if (state_->locked) return fail(Code::taken_over, state_->where + ": is locked already");
  state_->locked = true;
  return std::make_unique<MemoryLock>(state_);
}

Result<std::unique_ptr<Bell>> MemoryStore::bell() { return std::make_unique<SharedBell>(state_); }

Result<std::unique_ptr<SharedFile>> MemoryStore::share(const FileName& name, std::uint64_t size_bytes) {
  if (auto good = check(name.path); !good) return fail(good.error());
  const std::lock_guard guard(state_->mutex);
  if (const auto old = state_->take_out(name.path)) state_->used_bytes -= old->bytes.size();
  if (auto taken = state_->take_free(size_bytes, state_->path_of(name.path)); !taken) return fail(taken.error());
  auto file = std::make_shared<MemoryFile>();
  file->bytes.resize(size_bytes);
  if (const std::string directory = directory_of(name.path); !directory.empty()) state_->directories.insert(directory);
  state_->files[name.path] = file;
  return std::make_unique<SharedMemoryFile>(std::move(file));
}

Result<std::uint64_t> MemoryStore::free_bytes() const {
  const std::lock_guard guard(state_->mutex);
  return state_->capacity_bytes - state_->used_bytes + state_->retired_bytes();
}

std::string MemoryStore::where() const { return state_->where; }

}  // namespace cairn
