// The C API: objects and files.
#include "bind/objects.hpp"

#include <istream>
#include <iterator>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bind/c_session.hpp"
#include "bind/last_error.hpp"

struct cairn_object {
  std::ostream& out;
};

namespace {

void expect_zero(int code) {
  if (code != 0) throw std::runtime_error("it has returned " + std::to_string(code));
}

}  // namespace

namespace cairn::bind {

SaveObject save_of(cairn_save save, void* data) {
  if (save == nullptr) return {};
  return [save, data](std::ostream& out) {
    cairn_object object{out};
    expect_zero(save(&object, data));
  };
}

LoadObject load_of(cairn_load load, void* data) {
  if (load == nullptr) return {};
  return [load, data](std::istream& in) {
    const std::vector<char> bytes(std::istreambuf_iterator<char>(in), {});
    expect_zero(load(bytes.data(), bytes.size(), data));
  };
}

}  // namespace cairn::bind

int cairn_protect_object(cairn_session* session, const char* name, cairn_save save, cairn_load load, void* data) {
  return cairn::bind::with(session, [&](const cairn::Session&) {
    cairn::detail::RegionAccess access;
    access.is_saved = true;
    access.save = cairn::bind::save_of(save, data);
    access.load = cairn::bind::load_of(load, data);
    session->protect(cairn::bind::text_or_empty(name), std::move(access));
    return CAIRN_OK;
  });
}

int cairn_protect_file(cairn_session* session, const char* name, const char* path) {
  return cairn::bind::with(session, [&](const cairn::Session&) {
    cairn::detail::RegionAccess access;
    access.path_kind = cairn::detail::PathKind::file;
    access.file = cairn::bind::text_or_empty(path);
    session->protect(cairn::bind::text_or_empty(name), std::move(access));
    return CAIRN_OK;
  });
}

int cairn_protect_directory(cairn_session* session, const char* name, const char* path) {
  return cairn::bind::with(session, [&](const cairn::Session&) {
    cairn::detail::RegionAccess access;
    access.file = cairn::bind::text_or_empty(path);
    access.path_kind = cairn::detail::PathKind::directory;
    session->protect(cairn::bind::text_or_empty(name), std::move(access));
    return CAIRN_OK;
  });
}

int cairn_scratch_file(cairn_session* session, const char* name, const char** path) {
  if (path == nullptr) return cairn::bind::refuse(CAIRN_ERR_USAGE, "cairn_scratch_file: path is NULL");
  *path = nullptr;
  return cairn::bind::with(session, [&](const cairn::Session&) {
    *path = session->scratch_file(cairn::bind::text_or_empty(name)).c_str();
    return CAIRN_OK;
  });
}

int cairn_destination(cairn_session* session, const char* name, const char* path) {
  return cairn::bind::with(session, [&](cairn::Session& open) {
    open.destination(cairn::bind::text_or_empty(name), cairn::bind::text_or_empty(path));
    return CAIRN_OK;
  });
}

int cairn_put(cairn_object* object, const void* bytes, size_t count) {
  if (object == nullptr || (bytes == nullptr && count > 0))
    return cairn::bind::refuse(CAIRN_ERR_USAGE, "cairn_put: object or bytes is NULL");
  try {
    object->out.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(count));
    return CAIRN_OK;
  } catch (const std::exception& error) {
    return cairn::bind::fail(CAIRN_ERR_STORAGE, error.what());
  }
}
