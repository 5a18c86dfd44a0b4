#include "store/posix/posix_store.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <cerrno>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "store/posix/posix_bell.hpp"
#include "store/posix/posix_lock.hpp"
#include "store/posix/posix_paths.hpp"
#include "store/posix/posix_shared.hpp"
#include "store/posix/posix_writer.hpp"

namespace cairn {

namespace {

bool is_missing(const Error& error) { return error.code == Code::not_found; }

Result<bool> is_tmpfs(const posix::Fd& directory, const std::string& path) {
  struct statfs file_system = {};
  if (posix::uninterrupted([&] { return ::fstatfs(directory.get(), &file_system); }) != 0) {
    return fail(posix::system_error(errno, "ask for the file system", path));
  }
  return file_system.f_type == TMPFS_MAGIC;
}

Result<std::shared_ptr<posix::Home>> open_home(const std::string& root, const std::string& job,
                                               const PosixOptions& options) {
  auto directory = posix::open_job(root, job);
  if (!directory) return fail(directory.error());
  const std::string path = root + "/" + job;
  auto recycle = posix::open_recycle(directory->job.get(), path + "/" + posix::kRecycle);
  if (!recycle) return fail(recycle.error());
  const auto mapped = is_tmpfs(directory->job, path);
  if (!mapped) return fail(mapped.error());
  if (options.readers == Readers::group) {
    if (auto admitted = posix::admit(options.readers, directory->job.get(), path); !admitted)
      return fail(admitted.error());
  }
  return std::make_shared<posix::Home>(path, std::move(directory->root), std::move(directory->job), std::move(*recycle),
                                       *mapped, options.warm_mappings, options.readers);
}

Result<posix::Place> locate(const posix::Home& home, const FileName& name) {
  return posix::locate(home.job.get(), home.path, name, posix::Missing::is_an_error);
}

}  // namespace

class PosixStore::Parts {
 public:
  Parts(std::string root, std::string job, const PosixOptions& how, std::shared_ptr<posix::Home> home)
      : options(how), place{std::move(root), std::move(job)}, path(home->path), home_(std::move(home)) {}

  const PosixOptions options;
  const posix::JobPlace place;  // without a root: only for reading
  const std::string path;
  const std::shared_ptr<posix::HeldLock> held = std::make_shared<posix::HeldLock>();

  // Where the store is now. Every call asks for it first, and once: if the directory was removed in the meantime, it is
  // made again, empty, and the lock is taken there too. Processes that share the store find the same directory by its
  // name.
  [[nodiscard]] Result<std::shared_ptr<posix::Home>> home() {
    const std::lock_guard guard(mutex_);
    if (place.root.empty() || !home_->is_gone()) return home_;
    auto again = open_home(place.root, place.job, options);
    if (!again) return fail(posix::missing_is_a_fault(again.error()));
    if (auto locked = posix::move_lock(**again, *held); !locked) return fail(locked.error());
    home_ = std::move(*again);  // the old one goes with the last writer of a file in it
    return home_;
  }
  // Removes a directory as `discard` of the pool does.
  using Discard = Status (posix::FilePool::*)(int directory, const std::string& name, const std::string& path);
  [[nodiscard]] Status remove_by(Discard discard, const DirName& name) {
    const auto here = home();
    if (!here) return fail(here.error());
    const auto checked = posix::check(path, name);
    if (!checked) return fail(checked.error());
    return ((*here)->pool.*discard)((*here)->job.get(), name.path, *checked);
  }
  [[nodiscard]] bool mapped() {
    const std::lock_guard guard(mutex_);
    return home_->mapped;
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<posix::Home> home_;
};

PosixStore::PosixStore(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
PosixStore::~PosixStore() = default;

Result<std::shared_ptr<Store>> PosixStore::open(const std::string& root, const std::string& job,
                                                const PosixOptions& options) {
  auto home = open_home(root, job, options);
  if (!home) return fail(home.error());
  return std::shared_ptr<Store>(new PosixStore(std::make_unique<Parts>(root, job, options, std::move(*home))));
}

Result<std::shared_ptr<const Store>> PosixStore::open_existing(const std::string& root, const std::string& job) {
  auto directory = posix::open_existing_job(root, job);
  if (!directory) return fail(directory.error());
  const std::string path = root + "/" + job;
  const auto mapped = is_tmpfs(*directory, path);
  if (!mapped) return fail(mapped.error());
  // No recycle pool is made: of the const functions of a Store, only free_bytes() uses it.
  auto recycle = posix::open_directory(directory->get(), posix::kRecycle, path + "/" + posix::kRecycle);
  auto home = std::make_shared<posix::Home>(path, posix::Fd(), std::move(*directory),
                                            recycle ? std::move(*recycle) : posix::Fd(), *mapped, 0, Readers::owner);
  return std::shared_ptr<const Store>(
      new PosixStore(std::make_unique<Parts>(std::string(), job, PosixOptions{}, std::move(home))));
}

Result<std::unique_ptr<Writer>> PosixStore::create(const FileName& name, std::uint64_t size_bytes,
                                                   const std::string& owner) {
  const auto found = parts_->home();
  if (!found) return fail(found.error());
  const std::shared_ptr<posix::Home>& home = *found;
  Result<posix::Place> place = fail(Code::io, {});
  const auto located = home->pool.with_room(size_bytes, [&]() -> Status {
    place = posix::locate(home->job.get(), home->path, name, posix::Missing::make);
    if (!place) return fail(place.error());
    if (place->at_top || home->readers == Readers::owner) return {};
    return posix::admit(home->readers, place->directory.get(), place->path);
  });
  if (!located) return fail(posix::missing_is_a_fault(located.error()));
  auto slot = home->pool.claim(owner, size_bytes, place->path);
  if (!slot) return fail(posix::missing_is_a_fault(slot.error()));
  return std::make_unique<posix::PosixWriter>(home, std::move(*place), std::move(*slot), size_bytes);
}

Result<bool> PosixStore::warm_up(const std::string& owner, std::uint64_t size_bytes, std::uint32_t count) {
  const auto home = parts_->home();
  if (!home) return fail(home.error());
  return (*home)->pool.warm_up(owner, size_bytes, count);
}

Result<std::unique_ptr<Reader>> PosixStore::open(const FileName& name) const {
  const auto home = parts_->home();
  if (!home) return fail(home.error());
  return posix::PosixReader::open(*home, name);
}

Status PosixStore::patch(const FileName& name, std::uint64_t offset, Bytes bytes) {
  const auto home = parts_->home();
  if (!home) return fail(home.error());
  const auto place = locate(**home, name);
  if (!place) return fail(place.error());
  const auto file = posix::open_file(place->directory.get(), place->file, O_WRONLY, place->path);
  if (!file) return fail(file.error());
  const auto status = posix::status_of(file->get(), place->path);
  if (!status) return fail(status.error());

  const auto size_bytes = static_cast<std::uint64_t>(status->st_size);
  if (offset > size_bytes || bytes.size() > size_bytes - offset) {
    return fail_in_file(Code::invalid_argument, place->path,
                        fmt::format("has {} bytes; cannot overwrite {} bytes at {}", size_bytes, bytes.size(), offset));
  }
  return posix::write_all(file->get(), offset, bytes, place->path);
}

Status PosixStore::sync(const FileName& name) {
  const auto home = parts_->home();
  if (!home) return fail(home.error());
  const auto place = locate(**home, name);
  if (!place) return fail(place.error());
  const auto file = posix::open_file(place->directory.get(), place->file, O_RDONLY, place->path);
  if (!file) return fail(file.error());
  return posix::sync_data(file->get(), place->path);
}

Result<std::vector<Entry>> PosixStore::list(const DirName& directory) const {
  const auto found = parts_->home();
  if (!found) return fail(found.error());
  const posix::Home& home = **found;
  const bool top = directory.path.empty();
  const auto path = top ? Result<std::string>(home.path) : posix::check(home.path, directory);
  if (!path) return fail(path.error());
  const auto opened = posix::open_directory(home.job.get(), top ? "." : directory.path, *path);
  if (!opened) return is_missing(opened.error()) ? Result<std::vector<Entry>>({}) : fail(opened.error());
  const auto names = posix::names_in(opened->get(), *path);
  if (!names) return fail(names.error());

  std::vector<Entry> entries;
  for (const std::string& name : *names) {
    if (!posix::is_plain(name) || (top && posix::is_reserved(name))) continue;
    const auto status = posix::status_at(opened->get(), name);
    if (!status) continue;  // removed in the meantime
    if (S_ISDIR(status->st_mode)) {
      entries.push_back({name, 0, true});
    } else if (S_ISREG(status->st_mode)) {
      entries.push_back({name, static_cast<std::uint64_t>(status->st_size), false});
    }
  }
  return entries;
}

Status PosixStore::retire(const FileName& name, const std::string& owner) {
  const auto home = parts_->home();
  if (!home) return fail(home.error());
  const auto place = locate(**home, name);
  if (!place) return is_missing(place.error()) ? Status{} : fail(place.error());
  const auto status = posix::status_at(place->directory.get(), place->file);
  // A file with other names is not overwritten: one of them may be somebody's backup.
  if (status && (S_ISDIR(status->st_mode) || posix::has_other_names(*status))) {
    return (*home)->pool.discard(place->directory.get(), place->file, place->path);
  }
  const auto file = posix::open_file(place->directory.get(), place->file, O_WRONLY, place->path);
  if (!file) return is_missing(file.error()) ? Status{} : fail(file.error());
  return (*home)->pool.adopt(place->directory.get(), place->file, owner, place->path);
}

Status PosixStore::remove(const FileName& name) {
  const auto home = parts_->home();
  if (!home) return fail(home.error());
  const auto place = locate(**home, name);
  if (!place) return is_missing(place.error()) ? Status{} : fail(place.error());
  return (*home)->pool.discard(place->directory.get(), place->file, place->path);
}

Status PosixStore::remove_directory(const DirName& name) { return parts_->remove_by(&posix::FilePool::discard, name); }

Status PosixStore::remove_directory_later(const DirName& name) {
  return parts_->remove_by(&posix::FilePool::discard_later, name);
}

Status PosixStore::rename_directory(const DirName& from, const DirName& to) {
  const auto found = parts_->home();
  if (!found) return fail(found.error());
  posix::Home& home = **found;
  const auto from_path = posix::check(home.path, from);
  if (!from_path) return fail(from_path.error());
  const auto to_path = posix::check(home.path, to);
  if (!to_path) return fail(to_path.error());

  const int job = home.job.get();
  const auto renamed = posix::rename(job, from.path, job, to.path, fmt::format("{} to {}", *from_path, *to_path));
  const auto synced = renamed ? posix::sync_directory(job, home.path) : renamed;
  return synced ? home.sync_name() : synced;
}

Status PosixStore::reclaim(Writers whose) {
  const auto home = parts_->home();
  return home ? (*home)->pool.reclaim(whose == Writers::of_all_hosts) : fail(home.error());
}

Status PosixStore::clean() {
  const auto home = parts_->home();
  return home ? (*home)->pool.clean(parts_->held->is_held()) : fail(home.error());
}

Result<std::unique_ptr<Lock>> PosixStore::lock() {
  const auto home = parts_->home();
  if (!home) return fail(home.error());
  Result<std::unique_ptr<Lock>> lock = fail(Code::io, {});
  const auto taken = (*home)->pool.with_room(0, [&]() -> Status {
    lock = posix::take_lock(**home, parts_->options.lock_patience, parts_->held);
    return lock ? Status{} : fail(lock.error());
  });
  if (!taken) return fail(taken.error());
  return lock;
}

Result<std::unique_ptr<Bell>> PosixStore::bell() {
  const auto home = parts_->home();
  if (!home) return fail(home.error());
  Result<std::unique_ptr<Bell>> bell = fail(Code::io, {});
  const auto opened = (*home)->pool.with_room(0, [&]() -> Status {
    bell = posix::open_bell((*home)->job.get(), parts_->place);
    return bell ? Status{} : fail(bell.error());
  });
  if (!opened) return fail(opened.error());
  return bell;
}

Result<std::unique_ptr<SharedFile>> PosixStore::share(const FileName& name, std::uint64_t size_bytes) {
  const auto home = parts_->home();
  if (!home) return fail(home.error());
  const auto place = posix::locate((*home)->job.get(), (*home)->path, name, posix::Missing::make);
  if (!place) return fail(posix::missing_is_a_fault(place.error()));
  return posix::make_shared_file(*place, size_bytes);
}

Result<std::string> PosixStore::directory_of_files(const DirName& name) {
  const auto home = parts_->home();
  if (!home) return fail(home.error());
  auto path = posix::check((*home)->path, name);
  if (!path) return path;
  const auto made =
      (*home)->pool.with_room(0, [&] { return posix::make_directory((*home)->job.get(), name.path, *path); });
  if (!made) return fail(made.error());
  return path;
}

Result<std::uint64_t> PosixStore::free_bytes() const {
  const auto home = parts_->home();
  if (!home) return fail(home.error());
  const auto free = posix::free_bytes((*home)->job.get(), parts_->path);
  if (!free) return free;
  return (*home)->pool.free_file_bytes().map([&](std::uint64_t pooled) { return *free + pooled; });
}

std::string PosixStore::where() const { return parts_->path; }

}  // namespace cairn
