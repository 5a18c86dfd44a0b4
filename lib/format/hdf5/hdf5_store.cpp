#include "format/hdf5/hdf5_store.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

// Since HDF5 1.13 the declarations for drivers are in a header of their own.
#if __has_include(<H5FDdevelop.h>)
#include <H5FDdevelop.h>
#endif
#include <fmt/format.h>

namespace cairn::hdf5 {

// HDF5 casts between H5FD_t and the driver's own struct: it is the first member.
struct StoreFile {
  H5FD_t base{};
  std::unique_ptr<Writer> writer;
  std::unique_ptr<Reader> reader;
  std::string name;
  haddr_t allocated = 0;         // what HDF5 calls the end of allocation
  haddr_t written = 0;           // one past the last byte written, or the size of a file that is read
  std::optional<Error> failure;  // the store's first
  int opened = 0;                // how often HDF5 has it open
};

namespace {

StoreFile& self(H5FD_t* file) { return *reinterpret_cast<StoreFile*>(file); }
const StoreFile& self(const H5FD_t* file) { return *reinterpret_cast<const StoreFile*>(file); }

Status write_bytes(StoreFile& file, std::uint64_t offset, Bytes bytes) {
  // After a failure the file is lost, so the store is no longer used.
  if (file.failure) return fail(*file.failure);
  if (auto done = file.writer->write(offset, bytes); !done) {
    file.failure = done.error();
    return done;
  }
  file.written = std::max<haddr_t>(file.written, offset + bytes.size());
  return {};
}

Status read_bytes(const StoreFile& file, std::uint64_t offset, MutableBytes into) {
  // HDF5 guesses the length when it reads metadata; bytes beyond the end are zeros.
  const std::uint64_t there = offset < file.written ? file.written - offset : 0;
  const MutableBytes part = into.first(std::min<std::uint64_t>(into.size(), there));
  std::ranges::fill(into.subspan(part.size()), std::byte{});
  if (part.empty()) return {};
  return file.writer ? file.writer->read(offset, part) : file.reader->read(offset, part);
}

// The state is the File's; HDF5 opens and closes it, more than once while it creates a file.
H5FD_t* open_file(const char* /*name*/, unsigned /*flags*/, hid_t access, haddr_t /*maxaddr*/) {
  auto* const* state = static_cast<StoreFile* const*>(H5Pget_driver_info(access));
  if (state == nullptr) return nullptr;
  ++(*state)->opened;
  return &(*state)->base;
}

herr_t close_file(H5FD_t* file) {
  --self(file).opened;
  return 0;
}

herr_t query_file(const H5FD_t* /*file*/, unsigned long* flags) {
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_AGGREGATE_SMALLDATA;
  return 0;
}

haddr_t get_eoa(const H5FD_t* file, H5FD_mem_t /*type*/) { return self(file).allocated; }

herr_t set_eoa(H5FD_t* file, H5FD_mem_t /*type*/, haddr_t end) {
  self(file).allocated = end;
  return 0;
}

haddr_t get_eof(const H5FD_t* file, H5FD_mem_t /*type*/) { return self(file).written; }

herr_t read_file(H5FD_t* file, H5FD_mem_t /*type*/, hid_t /*transfer*/, haddr_t at, size_t size, void* into) {
  StoreFile& state = self(file);
  auto done = read_bytes(state, at, {static_cast<std::byte*>(into), size});
  if (!done && !state.failure) state.failure = done.error();
  return done ? 0 : -1;
}

// Never reports a failure to HDF5: HDF5 could then not close the file, and would flush it again at the end of the
// process, when the store no longer exists. The failure is kept, and every later File call returns it.
herr_t write_file(H5FD_t* file, H5FD_mem_t /*type*/, hid_t /*transfer*/, haddr_t at, size_t size, const void* from) {
  (void)write_bytes(self(file), at, {static_cast<const std::byte*>(from), size});
  return 0;
}

// In HDF5 1.14 the class of a driver has a version and a number; in 1.10 it has neither.
template <class Class>
void set_version(Class& driver) {
  if constexpr (requires { driver.version; }) driver.version = 1;
  if constexpr (requires { driver.value; }) driver.value = static_cast<decltype(driver.value)>(458);  // unregistered
}

H5FD_class_t make_driver() {
  H5FD_class_t driver{};
  set_version(driver);
  driver.name = "cairn_store";
  driver.maxaddr = (haddr_t{1} << 62U) - 1;
  driver.fc_degree = H5F_CLOSE_STRONG;
  driver.fapl_size = sizeof(void*);  // a pointer to the StoreFile
  driver.open = open_file;
  driver.close = close_file;
  driver.query = query_file;
  driver.get_eoa = get_eoa;
  driver.set_eoa = set_eoa;
  driver.get_eof = get_eof;
  driver.read = read_file;
  driver.write = write_file;
  return driver;
}

// The innermost entry of HDF5's error stack says what went wrong; the other entries only say in which calls. HDF5 calls
// this from C, so no exception may leave it: it takes the text where it lies, until the stack is cleared.
herr_t take_innermost(unsigned /*n*/, const H5E_error2_t* entry, void* into) noexcept {
  auto& text = *static_cast<std::string_view*>(into);
  if (text.empty() && entry->desc != nullptr) text = entry->desc;
  return 0;
}

}  // namespace

Quiet::Quiet() {
  H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Quiet::~Quiet() { H5Eset_auto2(H5E_DEFAULT, print_, data_); }

File::File() : state_(std::make_unique<StoreFile>()) {}
File::File(File&&) noexcept = default;

File::~File() {
  if (!state_) return;
  // Without finish() the file is abandoned: what HDF5 still has in its buffers is not written.
  if (state_->writer && !state_->failure) state_->failure = Error{Code::io, "abandoned", {}};
  file_.reset();
  if (state_->opened == 0) return;
  // If HDF5 1.10 finds damaged metadata in a file, it never closes the file, and keeps a pointer to the state until the
  // process ends. Then the state is kept too, but the store's file is closed.
  state_->written = 0;
  state_->reader.reset();
  state_->writer.reset();
  (void)state_.release();
}

Status File::attach(unsigned flags) {
  const H5FD_class_t driver = make_driver();
  driver_ = Handle(H5FDregister(&driver), H5FDunregister);
  access_ = Handle(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  StoreFile* const state = state_.get();
  const bool set = driver_.good() && access_.good() && H5Pset_driver(access_.get(), driver_.get(), &state) >= 0 &&
                   H5Pset_fclose_degree(access_.get(), H5F_CLOSE_STRONG) >= 0 &&
                   H5Pset_libver_bounds(access_.get(), H5F_LIBVER_V110, H5F_LIBVER_V110) >= 0 &&
                   H5Pset_alignment(access_.get(), 64 * kKiB, 4 * kKiB) >= 0;
  if (!set) return error("setting up HDF5");
  const char* name = state_->name.c_str();
  const hid_t id =
      flags == H5F_ACC_TRUNC ? H5Fcreate(name, flags, H5P_DEFAULT, access_.get()) : H5Fopen(name, flags, access_.get());
  file_ = Handle(id, H5Fclose);
  if (!file_.good()) return error("opening it as HDF5");
  return {};
}

Result<File> File::create(Store& store, const FileName& name, std::uint64_t size_bytes) {
  auto writer = store.create(name, size_bytes, "");
  if (!writer) return fail(writer.error());
  File file;
  file.state_->writer = std::move(*writer);
  file.state_->name = name.path;
  if (auto attached = file.attach(H5F_ACC_TRUNC); !attached) return fail(attached.error());
  return file;
}

Result<File> File::open(const Store& store, const FileName& name) {
  auto reader = store.open(name);
  if (!reader) return fail(reader.error());
  File file;
  file.state_->written = (*reader)->size_bytes();
  file.state_->reader = std::move(*reader);
  file.state_->name = name.path;
  if (auto attached = file.attach(H5F_ACC_RDONLY); !attached) return fail(attached.error());
  return file;
}

Status File::write(std::uint64_t offset, Bytes bytes) { return write_bytes(*state_, offset, bytes); }

Status File::read(std::uint64_t offset, MutableBytes into) const { return state_->reader->read(offset, into); }

const Reader& File::reader() const { return *state_->reader; }

tl::unexpected<Error> File::error(std::string_view doing) const {
  if (state_->failure) return fail(*state_->failure);
  std::string_view innermost;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_innermost, &innermost);
  const std::string why(innermost);
  H5Eclear2(H5E_DEFAULT);
  // A failure in a file that is read means that the file is damaged. A failure in a file that is written comes from the
  // store or from HDF5.
  const Code code = state_->reader ? Code::corrupt : Code::io;
  return fail_in_file(code, state_->name,
                      fmt::format("{} failed: {}", doing, why.empty() ? "HDF5 gives no reason" : why));
}

Result<std::uint64_t> File::close() {
  if (!file_.reset()) return error("closing it");
  if (state_->failure) return fail(*state_->failure);
  // Space that was allocated at the end belongs to the file, also if it was not written yet.
  const std::uint64_t size = std::max(state_->allocated, state_->written);
  if (state_->written < size) {
    const std::byte zero{};
    if (auto done = write_bytes(*state_, size - 1, {&zero, 1}); !done) return fail(done.error());
  }
  return size;
}

Status File::read_back(std::uint64_t offset, MutableBytes into) const { return state_->writer->read(offset, into); }

Result<std::uint64_t> File::finish() {
  const auto size = close();
  if (!size) return size;
  if (auto done = state_->writer->commit(*size, true); !done) return fail(done.error());
  return size;
}

}  // namespace cairn::hdf5
