// One file of a PosixStore being written, and one being read.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "store/posix/posix_mapping.hpp"
#include "store/posix/posix_paths.hpp"
#include "store/posix/posix_pool.hpp"
#include "store/store.hpp"

namespace cairn::posix {

// One directory of a store, as it was opened: what the store shares with its writers, which may outlive it. When
// somebody removes the directory while the job runs, the store opens another one of the same name.
struct Home {
  // `root`: what it is in; none: nothing in it will have to last.
  Home(std::string where, Fd root, Fd directory, Fd recycle, bool is_tmpfs, std::size_t warm_mappings, Readers read_by);

  std::string path;  // <root>/<job>
  Fd job;
  bool mapped;  // tmpfs: files are written and read through mappings
  FilePool pool;
  WarmMappings reading;  // of files that were read, for the next reader
  Readers readers;

  // Whether it, or the pool in it, has been removed: nothing can be made in it any more.
  [[nodiscard]] bool is_gone() const { return is_removed(job.get()) || pool.is_gone(); }
  // To be called after something in it was synced, which lasts no longer than its own name: the first call syncs that.
  [[nodiscard]] Status sync_name();

 private:
  std::mutex syncing_;
  Fd root_;  // none: the name is synced
};

class PosixWriter final : public Writer {
 public:
  PosixWriter(std::shared_ptr<Home> home, Place place, PoolFile slot, std::uint64_t size_bytes);
  ~PosixWriter() override;
  PosixWriter(const PosixWriter&) = delete;
  PosixWriter& operator=(const PosixWriter&) = delete;

  MutableBytes mapping() override;
  Status write(std::uint64_t offset, Bytes bytes) override;
  Status read(std::uint64_t offset, MutableBytes into) override;
  Status commit(std::uint64_t size_bytes, bool sync) override;

 private:
  [[nodiscard]] Status check_open() const;

  std::shared_ptr<Home> home_;
  Place place_;  // where the file is to be
  PoolFile slot_;
  std::uint64_t size_bytes_;
  bool committed_ = false;
};

class PosixReader final : public Reader {
 public:
  // On tmpfs the file's size is taken, and held, under a shared lock: see posix_pool.hpp.
  static Result<std::unique_ptr<Reader>> open(const std::shared_ptr<Home>& home, const FileName& name);
  // `mapping`: of these bytes or more; null where files are not mapped.
  PosixReader(std::shared_ptr<Home> home, Fd file, std::string path, std::uint64_t size_bytes,
              std::shared_ptr<Mapping> mapping);
  ~PosixReader() override;
  PosixReader(const PosixReader&) = delete;
  PosixReader& operator=(const PosixReader&) = delete;

  [[nodiscard]] std::uint64_t size_bytes() const override { return size_bytes_; }
  Status read(std::uint64_t offset, MutableBytes into) const override;
  [[nodiscard]] Bytes mapping() const override { return mapping_ ? mapping_->bytes().first(size_bytes_) : Bytes{}; }

 private:
  std::shared_ptr<Home> home_;
  Fd file_;
  std::string path_;
  std::uint64_t size_bytes_;
  std::shared_ptr<Mapping> mapping_;
};

}  // namespace cairn::posix
