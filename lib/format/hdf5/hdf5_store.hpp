// HDF5 over a Store: a virtual file driver of our own, so that an HDF5 file is created, filled, synced and named like
// every other file here, and a full store is Code::no_space. Also the RAII types that HDF5 needs.
//
// Nothing outlives a File: the driver is registered for each File and unregistered with it, so an application that uses
// (or closes) the same HDF5 library is not disturbed. Local; a File belongs to one thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <hdf5.h>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "store/store.hpp"

namespace cairn::hdf5 {

// Keeps HDF5 from printing its errors while it lives.
class Quiet {
 public:
  Quiet();
  ~Quiet();
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

// An HDF5 id, closed by the destructor; negative: none.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle() = default;
  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Handle() { (void)reset(); }

  [[nodiscard]] hid_t get() const { return id_; }
  [[nodiscard]] bool good() const { return id_ >= 0; }
  // Whether closing went well.
  bool reset() { return id_ < 0 || close_(std::exchange(id_, -1)) >= 0; }

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

struct StoreFile;

class File {
 public:
  // A new file of about `size_bytes`; nothing is visible before finish().
  static Result<File> create(Store& store, const FileName& name, std::uint64_t size_bytes);
  static Result<File> open(const Store& store, const FileName& name);
  File(File&&) noexcept;
  File& operator=(File&&) = delete;
  ~File();

  [[nodiscard]] hid_t id() const { return file_.get(); }
  // Writes or reads bytes at the place of a contiguous dataset in the file.
  [[nodiscard]] Status write(std::uint64_t offset, Bytes bytes);
  [[nodiscard]] Status read(std::uint64_t offset, MutableBytes into) const;
  // The reader of a file that was opened for reading.
  [[nodiscard]] const Reader& reader() const;
  // Why the last HDF5 call failed: the store's own error where that was the cause, else what HDF5 says.
  [[nodiscard]] tl::unexpected<Error> error(std::string_view doing) const;
  // Makes HDF5 write its buffers; returns the file's size. After it, only read_back() and finish() may be called.
  [[nodiscard]] Result<std::uint64_t> close();
  // What was written.
  [[nodiscard]] Status read_back(std::uint64_t offset, MutableBytes into) const;
  // Closes the file, syncs it and gives it its name; returns its size.
  [[nodiscard]] Result<std::uint64_t> finish();

 private:
  File();
  Status attach(unsigned flags);

  std::unique_ptr<StoreFile> state_;
  Handle driver_;
  Handle access_;
  Handle file_;
};

}  // namespace cairn::hdf5
