#include "store/posix/posix_writer.hpp"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace cairn::posix {

namespace {

constexpr std::size_t kWorthWriting = kMiB;

}  // namespace

Home::Home(std::string where, Fd root, Fd directory, Fd recycle, bool is_tmpfs, std::size_t warm_mappings,
           Readers read_by)
    : path(std::move(where)),
      job(std::move(directory)),
      mapped(is_tmpfs),
      pool(std::move(recycle), path + "/" + kRecycle, is_tmpfs, warm_mappings),
      reading(warm_mappings),
      readers(read_by),
      root_(std::move(root)) {}

Status Home::sync_name() {
  const std::lock_guard guard(syncing_);
  if (!root_.valid()) return {};
  const auto synced = sync_directory(root_.get(), std::filesystem::path(path).parent_path());
  if (synced) root_ = Fd();
  return synced;
}

PosixWriter::PosixWriter(std::shared_ptr<Home> home, Place place, PoolFile slot, std::uint64_t size_bytes)
    : home_(std::move(home)), place_(std::move(place)), slot_(std::move(slot)), size_bytes_(size_bytes) {}

PosixWriter::~PosixWriter() {
  if (!committed_) home_->pool.give_back(std::move(slot_));
}

MutableBytes PosixWriter::mapping() {
  if (committed_ || !slot_.mapping) return {};
  return slot_.mapping->bytes().first(size_bytes_);
}

Status PosixWriter::check_open() const {
  if (!committed_) return {};
  return fail_in_file(Code::invalid_argument, place_.path, "is committed already");
}

Status PosixWriter::write(std::uint64_t offset, Bytes bytes) {
  if (const auto open = check_open(); !open) return open;
  const MutableBytes mapped = mapping();
  if (offset <= mapped.size() && bytes.size() <= mapped.size() - offset) {
    std::copy(bytes.begin(), bytes.end(), mapped.begin() + static_cast<std::ptrdiff_t>(offset));
    return {};
  }
  auto written = home_->pool.with_room(offset + bytes.size(),
                                       [&] { return write_all(slot_.file.get(), offset, bytes, place_.path); });
  // A write may make the file longer. That part is not reserved, and commit() cuts the file to its size.
  if (written) slot_.size_bytes = std::max(slot_.size_bytes, offset + bytes.size());
  if (written && !home_->mapped && bytes.size() >= kWorthWriting)
    start_writeback(slot_.file.get(), offset, bytes.size());
  return written;
}

Status PosixWriter::read(std::uint64_t offset, MutableBytes into) {
  if (const auto open = check_open(); !open) return open;
  return read_exactly(slot_.file.get(), offset, into, place_.path);
}

Status PosixWriter::commit(std::uint64_t size_bytes, bool sync) {
  if (const auto open = check_open(); !open) return open;
  Status done = admit(home_->readers, slot_.file.get(), place_.path);  // a retired file may be of another access
  if (done) done = home_->pool.cut(slot_, size_bytes);
  if (done && sync) done = sync_data(slot_.file.get(), place_.path);
  if (done) done = home_->pool.publish(slot_, place_.directory.get(), place_.file, place_.path);
  if (!done) return home_->is_gone() ? fail(missing_is_a_fault(done.error())) : done;

  committed_ = true;
  slot_.file = Fd();
  if (!sync) return {};
  done = sync_directory(place_.directory.get(), place_.path);
  if (done && !place_.at_top) done = sync_directory(home_->job.get(), home_->path);
  return done ? home_->sync_name() : done;
}

Result<std::unique_ptr<Reader>> PosixReader::open(const std::shared_ptr<Home>& home, const FileName& name) {
  // Tries again only if the file was replaced, retired or removed between open and lock, or if another process holds
  // the lock for a moment to check whether the file is free. That process may lose the processor just then, so this
  // needs patience.
  constexpr std::chrono::seconds kPatience{10};
  constexpr std::chrono::microseconds kPause{50};
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (bool first = true; first || std::chrono::steady_clock::now() < until; first = false) {
    if (!first) std::this_thread::sleep_for(kPause);
    const auto place = locate(home->job.get(), home->path, name, Missing::is_an_error);
    if (!place) return fail(place.error());
    auto file = open_file(place->directory.get(), place->file, O_RDONLY, place->path);
    if (!file) return fail(file.error());
    if (home->mapped && !try_lock_shared(file->get())) {
      if (errno == EWOULDBLOCK) continue;
      return fail(system_error(errno, "lock", place->path));
    }

    const auto status = status_of(file->get(), place->path);
    if (!status) return fail(status.error());
    const auto size_bytes = static_cast<std::uint64_t>(status->st_size);
    if (!home->mapped) return std::make_unique<PosixReader>(home, std::move(*file), place->path, size_bytes, nullptr);

    if (!is_still_named(place->directory.get(), place->file, file->get())) continue;
    // A recycled file is the same file under another name: a process that read it before still has it mapped.
    auto mapping = home->reading.share({status->st_dev, status->st_ino}, size_bytes);
    if (!mapping) {
      auto fresh = Mapping::map(file->get(), size_bytes, Mapping::Access::read, place->path);
      if (!fresh) return fail(fresh.error());
      mapping = std::move(*fresh);
    }
    return std::make_unique<PosixReader>(home, std::move(*file), place->path, size_bytes, std::move(mapping));
  }
  return fail(Code::io, fmt::format("{}/{}: was replaced each time that it was opened", home->path, name.path));
}

PosixReader::PosixReader(std::shared_ptr<Home> home, Fd file, std::string path, std::uint64_t size_bytes,
                         std::shared_ptr<Mapping> mapping)
    : home_(std::move(home)),
      file_(std::move(file)),
      path_(std::move(path)),
      size_bytes_(size_bytes),
      mapping_(std::move(mapping)) {}

PosixReader::~PosixReader() {
  if (!mapping_) return;
  // A file that was removed in the meantime would take memory for as long as its mapping is kept.
  const auto status = status_of(file_.get(), path_);
  unlock(file_.get());  // a mapping would keep the lock
  if (status && status->st_nlink > 0) home_->reading.put({status->st_dev, status->st_ino}, std::move(mapping_));
}

Status PosixReader::read(std::uint64_t offset, MutableBytes into) const {
  if (offset > size_bytes_ || into.size() > size_bytes_ - offset) {
    return fail_in_file(Code::corrupt, path_,
                        fmt::format("has {} bytes; cannot read {} bytes at {}", size_bytes_, into.size(), offset));
  }
  // Not through the mapping, which takes longer for what is read once: the kernel has to map each page first.
  return read_exactly(file_.get(), offset, into, path_);
}

}  // namespace cairn::posix
