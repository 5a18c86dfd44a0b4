#include "store/posix/posix_pool.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/drawn_number.hpp"

namespace cairn::posix {

namespace {

constexpr std::uint64_t kStatBlock = 512;
constexpr std::uint64_t kInvalidatedBytes = 4 * kKiB;
constexpr std::string_view kFree = ".free";
constexpr std::string_view kWriting = ".writing";
constexpr std::string_view kRemoved = ".removed";
constexpr std::string_view kNobody = "nobody";

// Eight digits that distinguish this host's writers from those of other hosts that share a global store (FNV-1a).
std::string host_digits() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  std::uint32_t hash = 2166136261U;
  for (const char letter : std::string_view(name.data())) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
  }
  return fmt::format("{:08x}", hash);
}

// Whether "<owner>.<host>-<pid>.<seq>.writing" can be removed: its writer is known to be dead.
bool writer_is_gone(std::string_view name, std::string_view host, bool other_hosts_too) {
  const std::size_t start = name.find('.') + 1;
  const std::size_t dash = name.find('-', start);
  if (dash == std::string_view::npos) return false;
  if (name.substr(start, dash - start) != host) return other_hosts_too;
  pid_t process = 0;
  const auto [stop, error] = std::from_chars(name.data() + dash + 1, name.data() + name.size(), process);
  if (error != std::errc() || process <= 0) return false;
  return ::kill(process, 0) != 0 && errno == ESRCH;
}

std::string free_name(const std::string& owner, FileId id) { return fmt::format("{}.{:x}{}", owner, id.inode, kFree); }

Status check_owner(const std::string& owner) {
  if (owner.find_first_of("./") == std::string::npos && owner != kNobody) return {};
  return fail(Code::invalid_argument, fmt::format("'{}' cannot own retired files; write one word", owner));
}

}  // namespace

FilePool::FilePool(Fd directory, std::string path, bool mapped, std::size_t warm_files)
    : directory_(std::move(directory)),
      path_(std::move(path)),
      mapped_(mapped),
      warm_(warm_files),
      host_(host_digits()),
      sequence_(drawn_number()) {}

// Includes the process number, because a forked child continues its parent's count.
std::string FilePool::next_sequence() { return fmt::format("{:x}{:016x}", ::getpid(), sequence_.fetch_add(1)); }

std::string FilePool::writing_name(const std::string& owner) {
  return fmt::format("{}.{}-{}.{}{}", owner.empty() ? kNobody : owner, host_, ::getpid(), next_sequence(), kWriting);
}

Result<PoolFile> FilePool::claim(const std::string& owner, std::uint64_t size_bytes, const std::string& path) {
  if (auto status = check_owner(owner); !status) return fail(status.error());
  std::optional<PoolFile> slot;
  if (!owner.empty()) slot = claim_warm(owner, size_bytes, path);
  if (slot) return std::move(*slot);
  if (!owner.empty()) slot = claim_free(owner, size_bytes, path);
  if (!slot) {
    // A file also needs an inode: removing free files gives theirs back.
    const auto made = with_room(size_bytes, [&]() -> Status {
      auto one = make_new(owner, path);
      if (!one) return fail(one.error());
      slot = std::move(*one);
      return {};
    });
    if (!made) return fail(made.error());
    // On tmpfs, to reserve and map a new file takes as long as to copy into it, since each page is filled with zeros
    // first. That pays if it is to be overwritten later.
    if (mapped_ && owner.empty()) return std::move(*slot);
  }
  Status prepared = grow(*slot, size_bytes);
  if (prepared) prepared = map(*slot, size_bytes);
  if (prepared) return std::move(*slot);
  give_back(std::move(*slot));
  return fail(prepared.error());
}

// Used by every snapshot except the first few: finds a free file of exactly this size that is open and mapped in this
// process.
std::optional<PoolFile> FilePool::claim_warm(const std::string& owner, std::uint64_t size_bytes,
                                             const std::string& path) {
  std::string name;
  auto warm = warm_.take_if([&](const WarmFile& file) {
    if (file.owner != owner || file.mapping->bytes().size() < size_bytes) return false;
    if (!try_lock_exclusive(file.file.get())) return false;  // somebody still reads it
    // Checked only under the lock: before, another process may have used the file, and left it shorter or with holes.
    name = free_name(owner, file.id);
    const auto status = status_of(file.file.get(), path);
    const bool fits = is_still_named(directory_.get(), name, file.file.get()) && status && !has_other_names(*status) &&
                      std::cmp_equal(status->st_size, size_bytes) &&
                      static_cast<std::uint64_t>(status->st_blocks) * kStatBlock >= size_bytes;
    if (!fits) unlock(file.file.get());
    return fits;
  });
  if (!warm) return std::nullopt;
  return PoolFile{std::move(warm->file), name, owner, path, warm->id, size_bytes, true, true, std::move(warm->mapping)};
}

Result<PoolFile> FilePool::make_new(const std::string& owner, const std::string& path) {
  const std::string name = writing_name(owner);
  auto file = open_file(directory_.get(), name, O_RDWR | O_CREAT | O_EXCL, path);
  if (!file) return fail(file.error());
  const auto status = status_of(file->get(), path);
  if (!status) return fail(status.error());
  return PoolFile{std::move(*file), name, owner, path, {status->st_dev, status->st_ino}, 0, false, false, nullptr};
}

// The smallest that is large enough, else the largest; of equal ones, one that this process has mapped.
std::vector<FilePool::Candidate> FilePool::candidates(const std::string& owner, std::uint64_t size_bytes) const {
  std::vector<Candidate> found;
  for (const std::string& name : names_in(directory_.get(), path_).value_or(std::vector<std::string>{})) {
    if (!name.starts_with(owner + ".") || !name.ends_with(kFree)) continue;
    const auto status = status_at(directory_.get(), name);
    if (!status || has_other_names(*status)) continue;
    found.push_back({name, static_cast<std::uint64_t>(status->st_size), warm_.has({status->st_dev, status->st_ino})});
  }
  const auto key = [&](const Candidate& one) {
    const bool small = one.size_bytes < size_bytes;
    return std::tuple(small, small ? ~one.size_bytes : one.size_bytes, !one.warm);
  };
  std::sort(found.begin(), found.end(), [&](const Candidate& a, const Candidate& b) { return key(a) < key(b); });
  return found;
}

std::optional<PoolFile> FilePool::claim_free(const std::string& owner, std::uint64_t size_bytes,
                                             const std::string& path) {
  for (const Candidate& candidate : candidates(owner, size_bytes)) {
    if (auto slot = claim_this(candidate.name, owner, path)) return slot;
  }
  return std::nullopt;
}

std::optional<PoolFile> FilePool::claim_this(const std::string& name, const std::string& owner,
                                             const std::string& path) {
  auto file = open_file(directory_.get(), name, O_RDWR, path_of(name));
  if (!file) return std::nullopt;
  const auto status = status_of(file->get(), path);
  if (!status || has_other_names(*status)) return std::nullopt;
  if (mapped_ && !try_lock_exclusive(file->get())) return std::nullopt;  // somebody still reads it
  if (!is_still_named(directory_.get(), name, file->get())) return std::nullopt;
  const std::string writing = writing_name(owner);
  if (!rename(directory_.get(), name, directory_.get(), writing, path_of(writing))) return std::nullopt;
  if (mapped_) unlock(file->get());
  return PoolFile{std::move(*file), writing, owner, path, {status->st_dev, status->st_ino}, 0, true, false, nullptr};
}

Status FilePool::map(PoolFile& slot, std::uint64_t size_bytes) {
  if (!mapped_ || size_bytes == 0) return {};
  if (auto warm = warm_.take(slot.id)) slot.mapping = std::move(warm->mapping);
  if (slot.mapping && slot.mapping->bytes().size() >= size_bytes) return {};
  auto mapping = Mapping::map(slot.file.get(), slot.size_bytes, Mapping::Access::write, slot.path);
  if (!mapping) return fail(mapping.error());
  slot.mapping = std::move(*mapping);
  return {};
}

Status FilePool::grow(PoolFile& slot, std::uint64_t size_bytes) {
  if (size_bytes <= slot.size_bytes) return {};
  if (auto status = with_room(size_bytes, [&] { return reserve(slot.file.get(), size_bytes, slot.path); }); !status) {
    return status;
  }
  const auto status = status_of(slot.file.get(), slot.path);
  if (!status) return fail(status.error());
  slot.size_bytes = static_cast<std::uint64_t>(status->st_size);
  return {};
}

Result<bool> FilePool::warm_up(const std::string& owner, std::uint64_t size_bytes, std::uint32_t count) {
  if (!mapped_ || size_bytes == 0) return true;
  if (auto status = check_owner(owner); !status) return fail(status.error());
  const std::string path = path_of(owner);
  std::uint32_t ready = 0;
  std::string cold;
  std::string other;
  for (const Candidate& candidate : candidates(owner, size_bytes)) {
    const bool fits = candidate.size_bytes == size_bytes;
    if (fits) ++ready;
    if (fits && !candidate.warm) cold = candidate.name;
    if (!fits) other = candidate.name;
  }
  if (cold.empty() && ready >= count) return true;
  std::optional<PoolFile> slot;
  if (!cold.empty()) slot = claim_this(cold, owner, path);
  if (!slot && ready >= count) return true;  // the cold one is being read
  if (!slot && !other.empty()) slot = claim_this(other, owner, path);
  if (!slot) {
    auto made = make_new(owner, path);
    if (!made) return fail(made.error());
    slot = std::move(*made);
  }
  // Not with_room(): warming up is no reason to remove the retired files of other owners.
  Status done = reserve(slot->file.get(), size_bytes, path);
  if (done) done = cut(*slot, size_bytes);
  if (done) done = map(*slot, size_bytes);
  slot->recycled |= done.has_value();
  give_back(std::move(*slot));
  if (!done) return fail(done.error());
  return false;
}

Error FilePool::full(const Error& error, std::uint64_t wanted_bytes) const {
  Error more = error;
  more.code = Code::no_space;
  if (has_no_free_inodes(directory_.get())) {
    more.message += "; the file system has no free inode for another file";
    more.hint = "remove files there, or make the file system with more inodes (tmpfs: nr_inodes)";
    return more;
  }
  const auto free = free_bytes(directory_.get(), path_);
  more.message += fmt::format("; {} bytes are needed and {} are free", wanted_bytes,
                              free ? std::to_string(*free) : "an unknown number");
  more.hint = "make room there, protect less, or keep fewer snapshots";
  return more;
}

void FilePool::keep_warm(PoolFile& slot) {
  if (!slot.mapping || slot.owner.empty()) return;
  warm_.put({slot.id, slot.owner, std::move(slot.file), std::move(slot.mapping)});
  slot.file = Fd();
  slot.mapping.reset();
}

void FilePool::give_back(PoolFile slot) {
  // A failure here leaves a .writing file, which clean() removes after this process has ended.
  if (slot.locked) {
    unlock(slot.file.get());
    keep_warm(slot);
  } else if (slot.recycled) {
    const std::string free = free_name(slot.owner, slot.id);
    keep_warm(slot);
    (void)rename(directory_.get(), slot.name, directory_.get(), free, path_of(free));
  } else {
    slot.mapping.reset();
    (void)remove_file(directory_.get(), slot.name, pages(), slot.path);
  }
}

Status FilePool::cut(PoolFile& slot, std::uint64_t size_bytes) {
  if (auto status = grow(slot, size_bytes); !status || slot.size_bytes == size_bytes) return status;
  slot.size_bytes = size_bytes;
  return truncate(slot.file.get(), size_bytes, slot.path);
}

Status FilePool::publish(PoolFile& slot, int directory, const std::string& file, const std::string& path) {
  auto renamed = rename_new(directory_.get(), slot.name, directory, file, path);
  if (!renamed) return fail(renamed.error());
  if (!*renamed) {
    const auto replaced = status_at(directory, file);
    // A file cannot take the place of a directory, which would be in the way for ever.
    if (replaced && S_ISDIR(replaced->st_mode)) {
      if (auto gone = discard(directory, file, path); !gone) return gone;
    }
    if (auto over = rename(directory_.get(), slot.name, directory, file, path); !over) return over;
    // A replaced file would take memory for as long as it is kept warm.
    if (replaced) (void)warm_.take({replaced->st_dev, replaced->st_ino});
  }
  if (std::exchange(slot.locked, false)) unlock(slot.file.get());
  keep_warm(slot);
  return {};
}

Status FilePool::adopt(int directory, const std::string& file, const std::string& owner, const std::string& path) {
  if (owner.empty()) return discard(directory, file, path);
  if (auto status = check_owner(owner); !status) return status;
  // First renamed to a name that nobody else looks for, because bytes may be overwritten only in a file that nobody
  // else can get.
  const std::string hidden = writing_name(owner);
  const auto taken = rename(directory, file, directory_.get(), hidden, path);
  if (!taken) return taken.error().code == Code::not_found ? Status{} : taken;
  const auto status = status_at(directory_.get(), hidden);
  if (status && has_other_names(*status)) return discard(directory_.get(), hidden, path);
  const auto id = invalidate(hidden, path);
  if (id) return rename(directory_.get(), hidden, directory_.get(), free_name(owner, *id), path);
  (void)discard(directory_.get(), hidden, path);
  return fail(id.error());
}

Result<FileId> FilePool::invalidate(const std::string& name, const std::string& path) {
  const auto file = open_file(directory_.get(), name, O_WRONLY, path);
  if (!file) return fail(file.error());
  const auto status = status_of(file->get(), path);
  if (!status) return fail(status.error());
  const std::array<std::byte, kInvalidatedBytes> zeros{};
  const auto count = std::min<std::uint64_t>(zeros.size(), static_cast<std::uint64_t>(status->st_size));
  if (auto done = write_all(file->get(), 0, Bytes(zeros).first(count), path); !done) return fail(done.error());
  return FileId{status->st_dev, status->st_ino};
}

Result<std::string> FilePool::hide(int directory, const std::string& name, const std::string& path) {
  std::string hidden = next_sequence() + std::string(kRemoved);
  const auto renamed = rename(directory, name, directory_.get(), hidden, path);
  if (renamed) return hidden;
  if (renamed.error().code == Code::not_found) return std::string();
  return fail(renamed.error());
}

Status FilePool::discard(int directory, const std::string& name, const std::string& path) {
  const auto hidden = hide(directory, name, path);
  if (!hidden) return fail(hidden.error());
  return hidden->empty() ? Status{} : remove_hidden(*hidden);
}

Status FilePool::discard_later(int directory, const std::string& name, const std::string& path) {
  const auto hidden = hide(directory, name, path);
  if (!hidden) return fail(hidden.error());
  if (hidden->empty()) return {};
  return disposal_.begin([this, name = *hidden] { return remove_hidden(name); });
}

Status FilePool::remove_hidden(const std::string& hidden) {
  const auto status = status_at(directory_.get(), hidden);
  if (!status) return {};
  return S_ISDIR(status->st_mode) ? remove_tree(directory_.get(), hidden, pages(), path_of(hidden))
                                  : remove_file(directory_.get(), hidden, pages(), path_of(hidden));
}

Status FilePool::discard_free(const std::string& name) {
  if (!mapped_) return discard(directory_.get(), name, path_of(name));
  // The lock is held until the name is gone, so that nobody claims the file in between. Before the lock somebody may
  // have claimed it: then the file is being written, or has its final name already.
  const auto file = open_file(directory_.get(), name, O_RDWR, path_of(name));
  if (!file && file.error().code == Code::not_found) return {};
  if (!file) return discard(directory_.get(), name, path_of(name));  // not a file that anybody could claim
  if (!try_lock_exclusive(file->get()) || !is_still_named(directory_.get(), name, file->get())) return {};
  const auto status = status_of(file->get(), path_of(name));
  if (!status) return fail(status.error());
  const Status emptied = has_other_names(*status) ? Status{} : truncate(file->get(), 0, path_of(name));
  if (!emptied) return emptied;
  return remove_file(directory_.get(), name, Pages::leave, path_of(name));
}

void FilePool::make_room() {
  (void)reclaim(false);
  (void)remove_free();
}

Status FilePool::remove_free() {
  const auto names = names_in(directory_.get(), path_);
  if (!names) return fail(names.error());
  Status removed;
  for (const std::string& name : *names) {
    if (!name.ends_with(kFree)) continue;
    if (const auto one = discard_free(name); !one && removed) removed = one;
  }
  return removed;
}

Status FilePool::reclaim(bool all_hosts) {
  disposal_.wait();
  const auto names = names_in(directory_.get(), path_);
  if (!names) return fail(names.error());
  Status reclaimed;
  for (const std::string& name : *names) {
    const bool dead = name.ends_with(kWriting) && writer_is_gone(name, host_, all_hosts);
    if (!dead && !name.ends_with(kRemoved)) continue;
    const auto removed = discard(directory_.get(), name, path_of(name));
    if (!removed && reclaimed) reclaimed = removed;
  }
  return reclaimed;
}

Status FilePool::clean(bool all_hosts) {
  const Status reclaimed = reclaim(all_hosts);
  const Status removed = remove_free();
  return reclaimed ? removed : reclaimed;
}

Result<std::uint64_t> FilePool::free_file_bytes() const {
  const auto names = names_in(directory_.get(), path_);
  if (!names) return fail(names.error());
  std::uint64_t total = 0;
  for (const std::string& name : *names) {
    if (!name.ends_with(kFree)) continue;
    const auto status = status_at(directory_.get(), name);
    if (status) total += static_cast<std::uint64_t>(status->st_blocks) * kStatBlock;
  }
  return total;
}

}  // namespace cairn::posix
