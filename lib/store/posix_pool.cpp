#include "store/posix_pool.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <random>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace cairn::posix {

namespace {

constexpr std::string_view kFree = ".free";
constexpr std::string_view kWriting = ".writing";
constexpr std::string_view kRemoved = ".removed";
constexpr std::string_view kNobody = "nobody";

std::uint64_t random_start() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32U) | device();
}

// Eight digits that tell this host's writers from those of others that share a global store (FNV-1a).
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

}  // namespace

Pool::Pool(Fd directory, std::string path, bool mapped, std::size_t warm_mappings)
    : directory_(std::move(directory)),
      path_(std::move(path)),
      mapped_(mapped),
      warm_(warm_mappings),
      host_(host_digits()),
      sequence_(random_start()) {}

// With the process number, because a forked child goes on from its parent's count.
std::string Pool::next_sequence() { return fmt::format("{:x}{:016x}", ::getpid(), sequence_.fetch_add(1)); }

std::string Pool::writing_name(const std::string& owner) {
  return fmt::format("{}.{}-{}.{}{}", owner.empty() ? kNobody : owner, host_, ::getpid(), next_sequence(), kWriting);
}

Result<Slot> Pool::claim(const std::string& owner, std::uint64_t size_bytes, const std::string& path) {
  if (owner.find_first_of("./") != std::string::npos || owner == kNobody) {
    return fail(Code::invalid_argument, fmt::format("'{}' cannot own retired files: should be a word", owner));
  }
  std::optional<Slot> slot;
  if (!owner.empty()) slot = claim_free(owner, size_bytes, path);
  if (!slot) {
    const std::string name = writing_name(owner);
    auto file = open_file(directory_.get(), name, O_RDWR | O_CREAT | O_EXCL, path);
    if (!file) return fail(file.error());
    slot = Slot{std::move(*file), name, owner, path, false, nullptr};
  }

  const auto prepared = prepare(*slot, size_bytes);
  if (!prepared) {
    give_back(std::move(*slot));
    return fail(prepared.error());
  }
  return std::move(*slot);
}

// The smallest that is large enough, else the largest; of equal ones, one that this process has mapped.
std::vector<Pool::Candidate> Pool::candidates(const std::string& owner, std::uint64_t size_bytes) const {
  std::vector<Candidate> found;
  for (const std::string& name : names_in(directory_.get(), path_).value_or(std::vector<std::string>{})) {
    struct stat status = {};
    if (!name.starts_with(owner + ".") || !name.ends_with(kFree)) continue;
    if (::fstatat(directory_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    found.push_back({name, static_cast<std::uint64_t>(status.st_size), warm_.has(status.st_dev, status.st_ino)});
  }
  const auto key = [&](const Candidate& one) {
    const bool small = one.size_bytes < size_bytes;
    return std::tuple(small, small ? ~one.size_bytes : one.size_bytes, !one.warm);
  };
  std::sort(found.begin(), found.end(), [&](const Candidate& a, const Candidate& b) { return key(a) < key(b); });
  return found;
}

std::optional<Slot> Pool::claim_free(const std::string& owner, std::uint64_t size_bytes, const std::string& path) {
  for (const Candidate& candidate : candidates(owner, size_bytes)) {
    auto file = open_file(directory_.get(), candidate.name, O_RDWR, path_of(candidate.name));
    if (!file) continue;
    if (mapped_ && !try_lock_exclusive(file->get())) continue;  // somebody still reads it
    const std::string name = writing_name(owner);
    if (!rename(directory_.get(), candidate.name, directory_.get(), name, path_of(name))) continue;
    if (mapped_) unlock(file->get());
    return Slot{std::move(*file), name, owner, path, true, nullptr};
  }
  return std::nullopt;
}

Status Pool::prepare(Slot& slot, std::uint64_t size_bytes) {
  const auto grown = grow(slot, size_bytes);
  if (!grown || !mapped_ || size_bytes == 0) return grown;

  const auto status = status_of(slot.file.get(), slot.path);
  if (!status) return fail(status.error());
  slot.mapping = warm_.take(status->st_dev, status->st_ino);
  if (slot.mapping && slot.mapping->bytes().size() >= size_bytes) return {};

  auto mapping =
      Mapping::map(slot.file.get(), static_cast<std::uint64_t>(status->st_size), Mapping::Access::write, slot.path);
  if (!mapping) return fail(mapping.error());
  slot.mapping = std::move(*mapping);
  return {};
}

Status Pool::grow(const Slot& slot, std::uint64_t size_bytes) {
  return with_room(size_bytes, [&] { return reserve(slot.file.get(), size_bytes, slot.path); });
}

Error Pool::full(const Error& error, std::uint64_t wanted_bytes) const {
  const auto free = free_bytes(directory_.get(), path_);
  return Error{Code::no_space,
               fmt::format("{}; {} bytes were wanted and {} are free", error.message, wanted_bytes,
                           free ? std::to_string(*free) : "an unknown number"),
               "make room there, protect less, or keep fewer snapshots"};
}

void Pool::keep_warm(Slot& slot) {
  if (!slot.mapping || slot.owner.empty()) return;
  const auto status = status_of(slot.file.get(), slot.path);
  if (status) warm_.put(status->st_dev, status->st_ino, std::move(slot.mapping));
  slot.mapping.reset();
}

void Pool::give_back(Slot slot) {
  // What fails here leaves a .writing file, which clean() removes once this process is gone.
  if (slot.recycled) {
    keep_warm(slot);
    const std::string free = fmt::format("{}.{}{}", slot.owner, next_sequence(), kFree);
    (void)rename(directory_.get(), slot.name, directory_.get(), free, path_of(free));
  } else {
    slot.mapping.reset();
    (void)remove_file(directory_.get(), slot.name, pages(), slot.path);
  }
}

Status Pool::publish(Slot& slot, int directory, const std::string& file, const std::string& path) {
  struct stat replaced = {};
  const bool replaces = ::fstatat(directory, file.c_str(), &replaced, AT_SYMLINK_NOFOLLOW) == 0;
  const auto renamed = rename(directory_.get(), slot.name, directory, file, path);
  if (!renamed) return renamed;
  // A file that is gone would take memory for as long as its mapping is kept.
  if (replaces) warm_.take(replaced.st_dev, replaced.st_ino).reset();
  keep_warm(slot);
  return {};
}

Status Pool::adopt(int directory, const std::string& file, const std::string& owner, const std::string& path) {
  if (owner.empty()) return discard(directory, file, path);
  if (owner.find_first_of("./") != std::string::npos || owner == kNobody) {
    return fail(Code::invalid_argument, fmt::format("'{}' cannot own retired files: should be a word", owner));
  }
  const std::string free = fmt::format("{}.{}{}", owner, next_sequence(), kFree);
  return rename(directory, file, directory_.get(), free, path);
}

Status Pool::discard(int directory, const std::string& name, const std::string& path) {
  const std::string hidden = next_sequence() + std::string(kRemoved);
  const auto renamed = rename(directory, name, directory_.get(), hidden, path);
  if (!renamed) return renamed.error().code == Code::not_found ? Status{} : renamed;

  struct stat status = {};
  if (::fstatat(directory_.get(), hidden.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return {};
  return S_ISDIR(status.st_mode) ? remove_tree(directory_.get(), hidden, pages(), path_of(hidden))
                                 : remove_file(directory_.get(), hidden, pages(), path_of(hidden));
}

void Pool::remove_free() {
  for (const std::string& name : names_in(directory_.get(), path_).value_or(std::vector<std::string>{})) {
    if (name.ends_with(kFree)) (void)discard(directory_.get(), name, path_of(name));
  }
}

Status Pool::clean(bool all) {
  const auto names = names_in(directory_.get(), path_);
  if (!names) return fail(names.error());
  Status cleaned;
  for (const std::string& name : *names) {
    const bool dead = name.ends_with(kWriting) && writer_is_gone(name, host_, all);
    if (!dead && !name.ends_with(kFree) && !name.ends_with(kRemoved)) continue;
    const auto removed = discard(directory_.get(), name, path_of(name));
    if (!removed && cleaned) cleaned = removed;
  }
  return cleaned;
}

Result<std::uint64_t> Pool::free_file_bytes() const {
  constexpr std::uint64_t kStatBlock = 512;
  const auto names = names_in(directory_.get(), path_);
  if (!names) return fail(names.error());
  std::uint64_t total = 0;
  for (const std::string& name : *names) {
    struct stat status = {};
    if (!name.ends_with(kFree)) continue;
    if (::fstatat(directory_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    total += static_cast<std::uint64_t>(status.st_blocks) * kStatBlock;
  }
  return total;
}

}  // namespace cairn::posix
