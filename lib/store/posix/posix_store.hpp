// A Store in a directory <root>/<job> of a POSIX file system:
//
//   <snapshot>/<file>, <file>   what was committed, under its final name
//   recycle/                    retired files, and files being written (see posix_pool.hpp)
//   lock                        flock of the job that uses the store; holds its process number
//   bell                        the counters of bell()
//
// The job's directory has mode 0700 (Readers::group: 2750, and files 0640), must belong to the user, and nothing below
// the root is reached through a symbolic link. A file that has other names (hard links) is never overwritten; only its
// name here is removed. The default root (store/default_root) must also belong to the user, and others may not even
// look into it; any other root is used as it is. On tmpfs, files are written and read through mappings, and mappings
// stay warm for the next file of the same owner; elsewhere by pwrite and pread. Space is reserved by create(), so a
// full store is an error there and never a signal later.
//
// When somebody removes the job's directory, or recycle/ in it, while the store is in use, the next call makes them
// again, empty, and takes the lock there too; what was being written fails with Code::io. A bell that was opened before
// switches to the new file.
//
// A retired file may be overwritten, on tmpfs only after its readers have closed it. Its first 4 KiB are zeroed at once
// on every file system. So a reader verifies checksums after it has read, not before.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "store/readers.hpp"
#include "store/store.hpp"

namespace cairn {

struct PosixOptions {
  // How many files one store keeps warm in this process; it keeps as many mappings for reading.
  std::size_t warm_mappings = 64;
  // How long lock() waits: the kernel releases a dying job's lock a little late.
  std::chrono::milliseconds lock_patience{10'000};
  // group: it may read the job's directory, and files from their commit() on, but not the recycle pool.
  Readers readers = Readers::owner;
};

class PosixStore final : public Store {
 public:
  // Makes what is missing, root's parents too. `job` is one plain path component.
  static Result<std::shared_ptr<Store>> open(const std::string& root, const std::string& job,
                                             const PosixOptions& options = {});
  // Only for reading, and for any user who may: makes, changes and locks nothing. A missing one is Code::not_found.
  static Result<std::shared_ptr<const Store>> open_existing(const std::string& root, const std::string& job);
  ~PosixStore() override;

  Result<std::unique_ptr<Writer>> create(const FileName& name, std::uint64_t size_bytes,
                                         const std::string& owner) override;
  Result<bool> warm_up(const std::string& owner, std::uint64_t size_bytes, std::uint32_t count) override;
  Result<std::unique_ptr<Reader>> open(const FileName& name) const override;
  Status patch(const FileName& name, std::uint64_t offset, Bytes bytes) override;
  Status sync(const FileName& name) override;
  Result<std::vector<Entry>> list(const DirName& directory) const override;
  Status retire(const FileName& name, const std::string& owner) override;
  Status remove(const FileName& name) override;
  Status remove_directory(const DirName& name) override;
  Status remove_directory_later(const DirName& name) override;
  Status rename_directory(const DirName& from, const DirName& to) override;
  Status reclaim(Writers whose) override;
  Status clean() override;
  Result<std::unique_ptr<Lock>> lock() override;
  Result<std::unique_ptr<Bell>> bell() override;
  Result<std::unique_ptr<SharedFile>> share(const FileName& name, std::uint64_t size_bytes) override;
  Result<std::string> directory_of_files(const DirName& name) override;
  Result<std::uint64_t> free_bytes() const override;
  std::string where() const override;

 private:
  class Parts;
  explicit PosixStore(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn
