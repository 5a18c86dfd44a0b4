// The C API: the C++ Session behind an opaque handle, exceptions turned into codes.
#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <cairn/cairn.h>
#include <cairn/cairn.hpp>

#include "bind/last_error.hpp"
#include "repair/resilient.hpp"

struct cairn_session {
  std::unique_ptr<cairn::Resilient> job;    // where it repairs itself
  std::unique_ptr<cairn::Session> session;  // none between a failure and cairn_recover
  mutable std::string storage_error = {};   // as it was last asked for
};

namespace {

using cairn::bind::fail;

int code_of(cairn::ErrorKind kind) {
  switch (kind) {
    case cairn::ErrorKind::usage: return CAIRN_ERR_USAGE;
    case cairn::ErrorKind::config: return CAIRN_ERR_CONFIG;
    case cairn::ErrorKind::storage: return CAIRN_ERR_STORAGE;
    case cairn::ErrorKind::corrupt: return CAIRN_ERR_CORRUPT;
    case cairn::ErrorKind::unrecoverable: return CAIRN_ERR_UNRECOVERABLE;
    case cairn::ErrorKind::mismatch: return CAIRN_ERR_MISMATCH;
    case cairn::ErrorKind::taken_over: return CAIRN_ERR_TAKEN_OVER;
    case cairn::ErrorKind::communication: return CAIRN_ERR_COMMUNICATION;
    case cairn::ErrorKind::rollback: return CAIRN_ROLLBACK;
  }
  return CAIRN_ERR_USAGE;
}

template <class Call>
int guarded(Call call) {
  try {
    return call();
  } catch (const cairn::Exception& error) {
    return fail(code_of(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    return fail(CAIRN_ERR_STORAGE, "out of memory");
  } catch (const std::exception& error) {
    return fail(CAIRN_ERR_USAGE, error.what());
  }
}

// Runs `call` with the session, when there is one.
template <class Call>
int with(const cairn_session* session, Call call) {
  if (session == nullptr || !session->session)
    return fail(CAIRN_ERR_USAGE, "the session is NULL: cairn_init makes one");
  return guarded([&] { return call(*session->session); });
}

std::string text_or_empty(const char* text) { return text == nullptr ? std::string() : std::string(text); }

std::uint32_t bytes_of(cairn_type type) {
  switch (type) {
    case CAIRN_INT16:
    case CAIRN_UINT16: return 2;
    case CAIRN_INT32:
    case CAIRN_UINT32:
    case CAIRN_FLOAT: return 4;
    case CAIRN_INT64:
    case CAIRN_UINT64:
    case CAIRN_DOUBLE: return 8;
    case CAIRN_BYTE:
    case CAIRN_INT8:
    case CAIRN_UINT8: return 1;
  }
  return 0;
}

bool is_level(int level) { return level >= CAIRN_L1 && level <= CAIRN_L4; }

int wrong_level(int level) {
  return fail(CAIRN_ERR_USAGE, "level " + std::to_string(level) + " is not one of CAIRN_L1 to CAIRN_L4");
}

int protect(cairn_session* session, const char* name, void* data, cairn_type type, std::vector<std::uint64_t> shape) {
  const std::uint32_t bytes = bytes_of(type);
  if (bytes == 0) return fail(CAIRN_ERR_USAGE, "type " + std::to_string(type) + " is not a cairn_type");
  return with(session, [&](cairn::Session& open) {
    // Bytes are stored as uint8; the enumerators of cairn_type and Element agree otherwise.
    const auto element = type == CAIRN_BYTE ? cairn::Element::uint8 : static_cast<cairn::Element>(type);
    open.protect_raw(text_or_empty(name), data, element, bytes, {}, std::move(shape));
    return CAIRN_OK;
  });
}

}  // namespace

int cairn_init(MPI_Comm world, const char* config, cairn_session** session) {
  if (session == nullptr) return fail(CAIRN_ERR_USAGE, "cairn_init: session is NULL");
  *session = nullptr;
  return guarded([&] {
    const std::string file = text_or_empty(config);
    auto job = cairn::Resilient::if_wanted(world, file, cairn::Resilient::Tells::by_code);
    auto opened = job ? job->enter() : cairn::Session::open(world, file);
    if (!opened) return static_cast<int>(CAIRN_HEAD);
    *session = new cairn_session{std::move(job), std::move(opened)};
    return static_cast<int>(CAIRN_OK);
  });
}

int cairn_protect(cairn_session* session, const char* name, void* data, cairn_type type, size_t count) {
  return protect(session, name, data, type, {count});
}

int cairn_protect_array(cairn_session* session, const char* name, void* data, cairn_type type, int dims,
                        const size_t* shape) {
  if (dims < 0 || (dims > 0 && shape == nullptr)) return fail(CAIRN_ERR_USAGE, "cairn_protect_array: no shape");
  return protect(session, name, data, type, std::vector<std::uint64_t>(shape, shape + dims));
}

int cairn_protect_opaque(cairn_session* session, const char* name, void* data, const char* type_name,
                         size_t element_bytes, size_t count) {
  if (element_bytes == 0 || element_bytes > UINT32_MAX)
    return fail(CAIRN_ERR_USAGE, "cairn_protect_opaque: the element size is out of range");
  return with(session, [&](cairn::Session& open) {
    open.protect_raw(text_or_empty(name), data, cairn::Element::opaque, static_cast<std::uint32_t>(element_bytes),
                     text_or_empty(type_name), {count});
    return CAIRN_OK;
  });
}

int cairn_unprotect(cairn_session* session, const char* name) {
  return with(session, [&](cairn::Session& open) {
    open.unprotect(text_or_empty(name));
    return CAIRN_OK;
  });
}

int cairn_snapshot(cairn_session* session, uint32_t* version) {
  if (version != nullptr) *version = 0;
  return with(session, [&](cairn::Session& open) {
    const auto taken = open.snapshot();
    if (version != nullptr) *version = taken.value_or(0);
    return CAIRN_OK;
  });
}

int cairn_snapshot_to(cairn_session* session, int level, uint32_t* version) {
  if (version != nullptr) *version = 0;
  if (!is_level(level)) return wrong_level(level);
  return with(session, [&](cairn::Session& open) {
    const auto taken = open.snapshot(static_cast<cairn::LevelId>(level));
    if (version != nullptr) *version = taken;
    return CAIRN_OK;
  });
}

int cairn_wait(cairn_session* session, int level) {
  if (!is_level(level)) return wrong_level(level);
  return with(session, [&](cairn::Session& open) {
    open.wait(static_cast<cairn::LevelId>(level));
    return CAIRN_OK;
  });
}

const char* cairn_storage_error(const cairn_session* session) {
  if (session == nullptr || !session->session) return "";
  session->storage_error = session->session->storage_error();
  return session->storage_error.c_str();
}

int cairn_restore(cairn_session* session) {
  return with(session, [](cairn::Session& open) {
    open.restore();
    return CAIRN_OK;
  });
}

int cairn_restore_region(cairn_session* session, const char* name) {
  return with(session, [&](cairn::Session& open) {
    open.restore(text_or_empty(name));
    return CAIRN_OK;
  });
}

int cairn_restore_info(const cairn_session* session, cairn_restore_status* status) {
  if (status == nullptr) return fail(CAIRN_ERR_USAGE, "cairn_restore_info: status is NULL");
  return with(session, [&](const cairn::Session& open) {
    const cairn::RestoreReport& report = open.last_restore();
    *status = {report.restored ? 1 : 0,
               report.incarnation,
               report.version,
               {},
               static_cast<int>(report.my_level),
               static_cast<uint32_t>(report.lost_nodes.size()),
               report.seconds};
    std::ranges::copy(report.ranks_from, status->ranks_from);
    return CAIRN_OK;
  });
}

int cairn_comm(const cairn_session* session, MPI_Comm* comm) {
  if (comm == nullptr) return fail(CAIRN_ERR_USAGE, "cairn_comm: comm is NULL");
  return with(session, [&](const cairn::Session& open) {
    *comm = open.comm();
    return CAIRN_OK;
  });
}

int cairn_watch(cairn_session* session, MPI_Comm comm) {
  return with(session, [&](cairn::Session& open) {
    open.watch(comm);
    return CAIRN_OK;
  });
}

int cairn_should_stop(const cairn_session* session) {
  return session != nullptr && session->session && session->session->should_stop() ? 1 : 0;
}

int cairn_failed(const cairn_session* session) {
  return session != nullptr && session->session && session->session->failed() ? 1 : 0;
}

int cairn_recover(cairn_session* session) {
  if (session == nullptr || !session->job)
    return fail(CAIRN_ERR_USAGE, "cairn_recover: not a session of a job that repairs itself ([recovery] mode)");
  return guarded([&] {
    if (session->session) session->job->roll_back(std::move(session->session));
    session->session = session->job->enter();
    return session->session ? CAIRN_OK : fail(CAIRN_ERR_COMMUNICATION, "cairn_recover: the job is over");
  });
}

int cairn_state(const cairn_session* session) {
  return with(session, [](const cairn::Session& open) { return static_cast<int>(open.state()); });
}

int cairn_finalize(cairn_session** session) {
  if (session == nullptr || *session == nullptr) return fail(CAIRN_ERR_USAGE, "cairn_finalize: the session is NULL");
  std::unique_ptr<cairn_session> owned(std::exchange(*session, nullptr));
  if (!owned->job) {
    return with(owned.get(), [](cairn::Session& open) {
      open.finalize();
      return CAIRN_OK;
    });
  }
  if (!owned->session) return fail(CAIRN_ERR_USAGE, "cairn_finalize: call cairn_recover first");
  return guarded([&] {
    if (!owned->job->complete(std::move(owned->session))) {
      *session = owned.release();
      return fail(CAIRN_ROLLBACK, "a process died before all ranks had finished");
    }
    (void)owned->job->enter();  // tells what went wrong
    return static_cast<int>(CAIRN_OK);
  });
}

void cairn_abandon(cairn_session** session) {
  if (session == nullptr) return;
  const std::unique_ptr<cairn_session> owned(std::exchange(*session, nullptr));
  if (!owned || !owned->job) return;
  guarded([&] {
    owned->job->abandon(std::move(owned->session));
    return CAIRN_OK;
  });
}

void cairn_set_log(cairn_log log, void* data) {
  if (log == nullptr) return cairn::set_log({});
  cairn::set_log([log, data](cairn::LogLevel level, const std::string& line) {
    log(static_cast<int>(level), line.c_str(), data);
  });
}

int cairn_version(void) { return cairn::version(); }
const char* cairn_build_info(void) { return cairn::build_info(); }

const char* cairn_error_text(void) { return cairn::bind::last_error().c_str(); }
