// The C API: the C++ Session behind an opaque handle, exceptions turned into codes.
#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <cairn/cairn.h>
#include <cairn/cairn.hpp>

#include "base/log.hpp"
#include "bind/c_session.hpp"
#include "bind/last_error.hpp"
#include "bind/parts.hpp"
#include "repair/failure_vote.hpp"
#include "repair/lone_error.hpp"
#include "repair/resilient.hpp"
#include "repair/run.hpp"

namespace {

using cairn::bind::fail;
using cairn::bind::guarded;
using cairn::bind::refuse;
using cairn::bind::text_or_empty;
using cairn::bind::with;

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
  return refuse(CAIRN_ERR_USAGE, "level " + std::to_string(level) + " is not one of CAIRN_L1 to CAIRN_L4");
}

// Where a region is, asked at each snapshot and restore: always there, or where a variable of the application points
// to.
struct Place {
  void* object;
  const cairn::detail::RegionCalls* calls;
};
Place at(void* data) { return {data, nullptr}; }
Place behind(const void* pointer) {
  static constexpr cairn::detail::RegionCalls kCalls{[](void* object) {
    void* data = nullptr;
    std::memcpy(static_cast<void*>(&data), object, sizeof data);  // whatever the pointer points to
    return data;
  }};
  return {const_cast<void*>(pointer), &kCalls};
}

int protect(const cairn_session* session, const char* name, Place place, cairn::detail::RegionAccess access) {
  return with(session, [&](const cairn::Session&) {
    access.object = place.object;
    access.calls = place.calls;
    session->protect(text_or_empty(name), std::move(access));
    return CAIRN_OK;
  });
}

int protect(const cairn_session* session, const char* name, Place place, cairn_type type,
            std::vector<std::uint64_t> shape, std::optional<cairn::GlobalPlace> global = {}) {
  const std::uint32_t bytes = bytes_of(type);
  if (bytes == 0) return refuse(CAIRN_ERR_USAGE, "type " + std::to_string(type) + " is not a cairn_type");
  cairn::detail::RegionAccess access;
  // Bytes are stored as uint8; the enumerators of cairn_type and Element agree otherwise.
  access.element = type == CAIRN_BYTE ? cairn::Element::uint8 : static_cast<cairn::Element>(type);
  access.element_bytes = bytes;
  access.shape = std::move(shape);
  access.place = std::move(global);
  return protect(session, name, place, std::move(access));
}

int protect_array(const cairn_session* session, const char* name, Place place, cairn_type type, int dims,
                  const size_t* shape) {
  if (dims < 0 || (dims > 0 && shape == nullptr)) return refuse(CAIRN_ERR_USAGE, "cairn_protect_array: no shape");
  return protect(session, name, place, type, std::vector<std::uint64_t>(shape, shape + dims));
}

// One number for each dimension; none: NULL.
struct GlobalNumbers {
  const size_t* shape = nullptr;
  const size_t* offset = nullptr;
  const size_t* ghosts_before = nullptr;
  const size_t* ghosts_after = nullptr;
};

int protect_part(const cairn_session* session, const char* name, Place place, cairn_type type, int dims,
                 const size_t* shape, const GlobalNumbers& global) {
  if (dims <= 0 || shape == nullptr || global.shape == nullptr || global.offset == nullptr)
    return refuse(CAIRN_ERR_USAGE, "cairn_protect_part: no shape, global shape or offset");
  const auto numbers = [dims](const size_t* first) {
    return first == nullptr ? std::vector<std::uint64_t>{} : std::vector<std::uint64_t>(first, first + dims);
  };
  return protect(session, name, place, type, numbers(shape),
                 cairn::GlobalPlace{numbers(global.shape), numbers(global.offset), numbers(global.ghosts_before),
                                    numbers(global.ghosts_after)});
}

int protect_opaque(const cairn_session* session, const char* name, Place place, const char* type_name,
                   size_t element_bytes, size_t count) {
  if (element_bytes == 0 || element_bytes > UINT32_MAX)
    return refuse(CAIRN_ERR_USAGE, "cairn_protect_opaque: the element size is out of range");
  cairn::detail::RegionAccess access;
  access.element_bytes = static_cast<std::uint32_t>(element_bytes);
  access.type_name = text_or_empty(type_name);
  access.shape = {count};
  return protect(session, name, place, std::move(access));
}

// Calls `protect_at` with the place behind the pointer.
template <class ProtectAt>
int protect_pointer(const void* pointer, ProtectAt protect_at) {
  if (pointer == nullptr)
    return refuse(CAIRN_ERR_USAGE, "cairn_protect_pointer: pointer is NULL; pass the address of the pointer, &array");
  return protect_at(behind(pointer));
}

// Calls that cairn_run makes itself: CAIRN_OK where cairn_init has made the session.
int refuse_in_run(const cairn_session* session, const char* reason) {
  if (session == nullptr || !session->is_lent()) return CAIRN_OK;
  return refuse(*session, cairn::Exception(cairn::ErrorKind::usage, reason), CAIRN_ERR_USAGE);
}

}  // namespace

int cairn_init(MPI_Comm world, const char* config, cairn_session** session) {
  return cairn_init_with_helpers(world, config, nullptr, nullptr, session);
}

int cairn_init_with_helpers(MPI_Comm world, const char* config, cairn_compute_part compute, void* data,
                            cairn_session** session) {
  if (session == nullptr) return refuse(CAIRN_ERR_USAGE, "cairn_init: session is NULL");
  *session = nullptr;
  if (cairn::Resilient::exists()) return refuse(CAIRN_ERR_USAGE, cairn::kHasSession);
  std::unique_ptr<cairn::Resilient> job;
  const auto open = [&] {
    const std::string file = text_or_empty(config);
    job = cairn::Resilient::if_wanted(world, file, cairn::Resilient::Tells::by_code,
                                      cairn::bind::compute_of(compute, data));
    auto opened = job ? job->enter() : cairn::Session::open(world, file);
    if (!opened) return static_cast<int>(CAIRN_HEAD);
    auto vote = job ? nullptr : std::make_unique<cairn::FailureVote>(opened->comm());
    *session = new cairn_session(std::move(job), std::move(opened), std::move(vote));
    return static_cast<int>(CAIRN_OK);
  };
  const auto open_or_end = [&] {
    try {
      return open();
    } catch (const cairn::Exception&) {
      throw;
    } catch (const std::exception& error) {
      cairn::end_for_lone_error(world, job.get(), error);
    }
  };
  return guarded(open_or_end, [world](const cairn::Exception& error, int code) {
    cairn::report_failed_opening(world, error.kind(), [&] { (void)refuse(code, error.what()); });
    return fail(code, error.what());
  });
}

int cairn_protect(cairn_session* session, const char* name, void* data, cairn_type type, size_t count) {
  return protect(session, name, at(data), type, {count});
}

int cairn_protect_array(cairn_session* session, const char* name, void* data, cairn_type type, int dims,
                        const size_t* shape) {
  return protect_array(session, name, at(data), type, dims, shape);
}

int cairn_protect_part(cairn_session* session, const char* name, void* data, cairn_type type, int dims,
                       const size_t* shape, const size_t* global_shape, const size_t* offset) {
  return protect_part(session, name, at(data), type, dims, shape, {global_shape, offset});
}

int cairn_protect_block(cairn_session* session, const char* name, void* data, cairn_type type, int dims,
                        const size_t* shape, const size_t* global_shape, const size_t* offset,
                        const size_t* ghosts_before, const size_t* ghosts_after) {
  return protect_part(session, name, at(data), type, dims, shape, {global_shape, offset, ghosts_before, ghosts_after});
}

int cairn_protect_opaque(cairn_session* session, const char* name, void* data, const char* type_name,
                         size_t element_bytes, size_t count) {
  return protect_opaque(session, name, at(data), type_name, element_bytes, count);
}

int cairn_protect_pointer(cairn_session* session, const char* name, const void* pointer, cairn_type type,
                          size_t count) {
  return protect_pointer(pointer, [&](Place place) { return protect(session, name, place, type, {count}); });
}

int cairn_protect_pointer_array(cairn_session* session, const char* name, const void* pointer, cairn_type type,
                                int dims, const size_t* shape) {
  return protect_pointer(pointer, [&](Place place) { return protect_array(session, name, place, type, dims, shape); });
}

int cairn_protect_pointer_part(cairn_session* session, const char* name, const void* pointer, cairn_type type, int dims,
                               const size_t* shape, const size_t* global_shape, const size_t* offset) {
  return protect_pointer(pointer, [&](Place place) {
    return protect_part(session, name, place, type, dims, shape, {global_shape, offset});
  });
}

int cairn_protect_pointer_block(cairn_session* session, const char* name, const void* pointer, cairn_type type,
                                int dims, const size_t* shape, const size_t* global_shape, const size_t* offset,
                                const size_t* ghosts_before, const size_t* ghosts_after) {
  return protect_pointer(pointer, [&](Place place) {
    return protect_part(session, name, place, type, dims, shape, {global_shape, offset, ghosts_before, ghosts_after});
  });
}

int cairn_protect_pointer_opaque(cairn_session* session, const char* name, const void* pointer, const char* type_name,
                                 size_t element_bytes, size_t count) {
  return protect_pointer(
      pointer, [&](Place place) { return protect_opaque(session, name, place, type_name, element_bytes, count); });
}

int cairn_unprotect(cairn_session* session, const char* name) {
  return with(session, [&](cairn::Session& open) {
    open.unprotect(text_or_empty(name));
    return CAIRN_OK;
  });
}

int cairn_on_loss(cairn_session* session, cairn_split split, cairn_merge merge, void* data) {
  return with(session, [&](cairn::Session& open) {
    open.on_loss(cairn::bind::split_of(split, data), cairn::bind::merge_of(merge, data));
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

int cairn_due(cairn_session* session, int* due) {
  if (due == nullptr) return refuse(CAIRN_ERR_USAGE, "cairn_due: due is NULL");
  *due = 0;
  return with(session, [&](cairn::Session& open) {
    *due = open.due() ? 1 : 0;
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

int cairn_safe_version(cairn_session* session, int level, uint32_t* version) {
  if (version != nullptr) *version = 0;
  if (!is_level(level)) return wrong_level(level);
  return with(session, [&](cairn::Session& open) {
    const auto safe = open.safe_version(static_cast<cairn::LevelId>(level));
    if (version != nullptr) *version = safe;
    return CAIRN_OK;
  });
}

const char* cairn_storage_error(const cairn_session* session) {
  if (session == nullptr || session->open() == nullptr) return "";
  session->storage_error = session->open()->storage_error();
  return session->storage_error.c_str();
}

int cairn_stored_elements(cairn_session* session, const char* name, size_t* count) {
  if (count == nullptr) return refuse(CAIRN_ERR_USAGE, "cairn_stored_elements: count is NULL");
  *count = 0;
  return with(session, [&](cairn::Session& open) {
    *count = open.stored(text_or_empty(name)).value_or(0);
    return CAIRN_OK;
  });
}

int cairn_stored_total(cairn_session* session, const char* name, size_t* count) {
  if (count == nullptr) return refuse(CAIRN_ERR_USAGE, "cairn_stored_total: count is NULL");
  *count = 0;
  return with(session, [&](cairn::Session& open) {
    *count = open.stored_total(text_or_empty(name)).value_or(0);
    return CAIRN_OK;
  });
}

int cairn_restore(cairn_session* session) {
  return with(session, [](cairn::Session& open) {
    open.restore();
    return CAIRN_OK;
  });
}

int cairn_restore_version(cairn_session* session, uint32_t version) {
  return with(session, [&](cairn::Session& open) {
    open.restore(version);
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
  if (status == nullptr) return refuse(CAIRN_ERR_USAGE, "cairn_restore_info: status is NULL");
  return with(session, [&](const cairn::Session& open) {
    const cairn::RestoreReport& report = open.last_restore();
    *status = {report.restored ? 1 : 0,
               report.incarnation,
               report.version,
               {},
               static_cast<int>(report.my_level),
               static_cast<uint32_t>(report.lost_nodes.size()),
               report.seconds,
               report.old_ranks,
               report.bytes_moved};
    std::ranges::copy(report.ranks_from, status->ranks_from);
    return CAIRN_OK;
  });
}

int cairn_comm(const cairn_session* session, MPI_Comm* comm) {
  if (comm == nullptr) return refuse(CAIRN_ERR_USAGE, "cairn_comm: comm is NULL");
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

int cairn_suspect(cairn_session* session, const char* text) {
  return with(session, [&](cairn::Session& open) {
    open.suspect(text_or_empty(text));
    return CAIRN_OK;
  });
}

int cairn_should_stop(const cairn_session* session) {
  return session != nullptr && session->open() != nullptr && session->open()->should_stop() ? 1 : 0;
}

int cairn_failed(const cairn_session* session) {
  return session != nullptr && session->open() != nullptr && session->open()->failed() ? 1 : 0;
}

int cairn_catches_up(const cairn_session* session) {
  return session != nullptr && session->open() != nullptr && session->open()->catches_up() ? 1 : 0;
}

int cairn_recover(cairn_session* session) {
  if (const int code = refuse_in_run(session, "cairn_recover: cairn_run repairs the job itself; leave this call out"))
    return code;
  if (session == nullptr || !session->job)
    return refuse(CAIRN_ERR_USAGE,
                  "cairn_recover: the job does not repair itself (set [recovery] mode = spares or respawn)");
  const auto refused = [job = session->job.get()](const cairn::Exception& error, int code) {
    return refuse(*job, error, code);
  };
  return guarded(
      [&] {
        if (session->session) session->job->roll_back(std::move(session->session));
        session->session = session->job->enter();
        if (session->session) return static_cast<int>(CAIRN_OK);
        return refused({cairn::ErrorKind::communication, "cairn_recover: the job is over"}, CAIRN_ERR_COMMUNICATION);
      },
      refused);
}

int cairn_state(const cairn_session* session) {
  return with(session, [](const cairn::Session& open) { return static_cast<int>(open.state()); });
}

int cairn_finalize(cairn_session** session) {
  if (session == nullptr || *session == nullptr) return refuse(CAIRN_ERR_USAGE, "cairn_finalize: the session is NULL");
  if (const int code = refuse_in_run(
          *session, "cairn_finalize: cairn_run finalizes the session when its function returns 0; leave this call out"))
    return code;
  // The session is freed below, whatever finalize() says.
  if ((*session)->readers > 0) {
    return with(*session, [](const cairn::Session& /*open*/) -> int {
      throw cairn::Exception(cairn::ErrorKind::usage, "cairn_finalize: a reader is open; close it first");
    });
  }
  // The others wait for this rank.
  if ((*session)->job && !(*session)->session)
    return refuse(CAIRN_ERR_USAGE, "cairn_finalize: call cairn_recover first");
  std::unique_ptr<cairn_session> owned(std::exchange(*session, nullptr));
  if (!owned->job) {
    return with(owned.get(), [](cairn::Session& open) {
      open.finalize();
      return CAIRN_OK;
    });
  }
  return guarded(
      [&] {
        if (!owned->job->complete(std::move(owned->session))) {
          *session = owned.release();
          return fail(CAIRN_ROLLBACK, "a process died before all ranks had finished");
        }
        (void)owned->job->enter();  // throws what went wrong
        return static_cast<int>(CAIRN_OK);
      },
      [&](const cairn::Exception& error, int code) { return refuse(*owned->job, error, code); });
}

void cairn_abandon(cairn_session** session) {
  if (session == nullptr) return;
  if (refuse_in_run(*session, "cairn_abandon: let the function that cairn_run calls return another number than 0"))
    return;
  const std::unique_ptr<cairn_session> owned(std::exchange(*session, nullptr));
  if (owned && owned->vote) owned->vote->leave_to_mpi();
  if (!owned || !owned->job) return;
  (void)guarded(
      [&] {
        owned->job->abandon(std::move(owned->session));
        return CAIRN_OK;
      },
      [&](const cairn::Exception& error, int code) { return refuse(*owned->job, error, code); });
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
