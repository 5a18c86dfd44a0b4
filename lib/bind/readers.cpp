// The C API: snapshots that are read without being restored.
#include <memory>
#include <utility>

#include <cairn/cairn.h>

#include "bind/c_session.hpp"
#include "bind/last_error.hpp"
#include "session/exception.hpp"
#include "session/open_snapshot_impl.hpp"

// It refers to its session as long as it is open.
struct cairn_reader {
 public:
  cairn_reader(cairn_session& of, cairn::OpenSnapshot opened) : session_(of), open_(std::move(opened)) {
    ++session_.readers;
  }
  ~cairn_reader() {
    if (!is_over()) --session_.readers;
  }
  cairn_reader(const cairn_reader&) = delete;
  cairn_reader& operator=(const cairn_reader&) = delete;

  // Its session may be gone.
  [[nodiscard]] bool is_over() const {
    const cairn::Status usable = open_.impl_->usable();
    return !usable && usable.error().code == cairn::Code::invalid_argument;
  }
  [[nodiscard]] cairn_session& session() const { return session_; }
  [[nodiscard]] cairn::OpenSnapshot& open() { return open_; }
  // The number of this region. Throws: kind `usage` if there is none.
  [[nodiscard]] std::size_t find(const std::string& name) const {
    return cairn::value_or_throw(open_.impl_->find(name));
  }
  // Throws: kind `mismatch` if the region has elements of another type.
  void check_type(const std::string& name, cairn_type type, std::size_t element_bytes, const char* type_name) const {
    static_cast<void>(open_.elements_of(name, {static_cast<cairn::Element>(type), element_bytes, type_name}));
  }

 private:
  cairn_session& session_;
  cairn::OpenSnapshot open_;
};

namespace {

using cairn::bind::fail;
using cairn::bind::refuse;

int refuse_closed() { return refuse(CAIRN_ERR_USAGE, "the reader is NULL, or its session has ended"); }

// Runs `call` with what is open.
template <class Call>
int with(cairn_reader* reader, Call call) {
  if (reader == nullptr || reader->is_over()) return refuse_closed();
  return cairn::bind::with(&reader->session(), [&](cairn::Session& /*session*/) { return call(reader->open()); });
}

cairn::OpenSnapshot open_one(cairn::Session& session, uint32_t version, const char* label) {
  if (label != nullptr && version != 0)
    throw cairn::Exception(cairn::ErrorKind::usage, "cairn_open_snapshot: give a version or a label, not both");
  if (label != nullptr) return session.open_snapshot(cairn::Label{label});
  return version == 0 ? session.open_snapshot() : session.open_snapshot(version);
}

}  // namespace

int cairn_open_snapshot(cairn_session* session, uint32_t version, const char* label, cairn_reader** reader) {
  if (reader == nullptr) return refuse(CAIRN_ERR_USAGE, "cairn_open_snapshot: reader is NULL");
  *reader = nullptr;
  return cairn::bind::with(session, [&](cairn::Session& open) {
    *reader = std::make_unique<cairn_reader>(*session, open_one(open, version, label)).release();
    return CAIRN_OK;
  });
}

int cairn_reader_info(cairn_reader* reader, cairn_reader_status* status) {
  if (status == nullptr) return refuse(CAIRN_ERR_USAGE, "cairn_reader_info: status is NULL");
  return with(reader, [&](const cairn::OpenSnapshot& open) {
    *status = {open.version(), open.incarnation(), open.label().c_str(), open.regions().size()};
    return CAIRN_OK;
  });
}

int cairn_reader_region(cairn_reader* reader, size_t index, cairn_region_info* region) {
  if (region == nullptr) return refuse(CAIRN_ERR_USAGE, "cairn_reader_region: region is NULL");
  return with(reader, [&](const cairn::OpenSnapshot& open) {
    if (index >= open.regions().size())
      throw cairn::Exception(
          cairn::ErrorKind::usage,
          "cairn_reader_region: there are " + std::to_string(open.regions().size()) + " regions, counted from 0");
    const cairn::SnapshotRegion& there = open.regions()[index];
    *region = {there.name.c_str(),  there.type.c_str(), static_cast<cairn_type>(there.element),
               there.element_bytes, there.elements,     there.bytes,
               there.shape.size(),  there.shape.data()};
    return CAIRN_OK;
  });
}

int cairn_reader_read(cairn_reader* reader, const char* name, void* into, size_t capacity, size_t* bytes) {
  return with(reader, [&](const cairn::OpenSnapshot& open) {
    const std::size_t read = open.read(cairn::bind::text_or_empty(name), into, capacity);
    if (bytes != nullptr) *bytes = read;
    return CAIRN_OK;
  });
}

int cairn_reader_extract(cairn_reader* reader, const char* name, const char* path) {
  return with(reader, [&](const cairn::OpenSnapshot& open) {
    open.extract(cairn::bind::text_or_empty(name), cairn::bind::text_or_empty(path));
    return CAIRN_OK;
  });
}

int cairn_reader_close(cairn_reader** reader, int good, int* all_good) {
  if (reader == nullptr) return refuse_closed();
  const std::unique_ptr<cairn_reader> owned(std::exchange(*reader, nullptr));
  if (owned == nullptr || owned->is_over()) return refuse_closed();
  --owned->session().readers;
  return with(owned.get(), [&](cairn::OpenSnapshot& open) {
    const bool accepted = open.close(good != 0);
    if (all_good != nullptr) *all_good = accepted ? 1 : 0;
    return CAIRN_OK;
  });
}

void cairn_reader_drop(cairn_reader** reader) {
  if (reader == nullptr) return;
  const std::unique_ptr<cairn_reader> owned(std::exchange(*reader, nullptr));
}

// Of the Fortran module, where an array has a type.
extern "C" {

int cairn_reader_find_fortran(cairn_reader* reader, const char* name, size_t* index) {
  return with(reader, [&](const cairn::OpenSnapshot& /*open*/) {
    *index = reader->find(cairn::bind::text_or_empty(name));
    return CAIRN_OK;
  });
}

// Elements of CAIRN_INT8 take the bytes of any region.
int cairn_reader_read_fortran(cairn_reader* reader, const char* name, void* into, size_t capacity, cairn_type type,
                              size_t element_bytes, const char* type_name, size_t* bytes) {
  return with(reader, [&](const cairn::OpenSnapshot& open) {
    if (type != CAIRN_INT8) reader->check_type(name, type, element_bytes, type_name);
    *bytes = open.read(name, into, capacity);
    return CAIRN_OK;
  });
}

}  // extern "C"
