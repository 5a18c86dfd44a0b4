#include "tap/error_handlers.hpp"

#include <cstdarg>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tap/family.hpp"
#include "tap/hear.hpp"
#include "tap/world.hpp"
#include "tap/world_guard.hpp"

namespace cairn::tap {
namespace {

using Tells = ErrorJudge::Tells;

// What has handlers. With some MPIs, the two kinds of handles are of one type.
struct OfComms {
  using Object = MPI_Comm;
  using Function = MPI_Comm_errhandler_function;
  static MPI_Errhandler get(MPI_Comm comm) {
    MPI_Errhandler there = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(comm, &there);
    return there;
  }
  static void set(MPI_Comm comm, MPI_Errhandler handler) { MPI_Comm_set_errhandler(comm, handler); }
  static void call(MPI_Comm comm, int code) { MPI_Comm_call_errhandler(comm, code); }
  static MPI_Errhandler make(Function* function) {
    MPI_Errhandler made = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(function, &made);
    return made;
  }
  static Tells judge(ErrorJudge& judge, MPI_Comm comm, int code) { return judge.judge_comm(comm, code); }
};
struct OfWindows {
  using Object = MPI_Win;
  using Function = MPI_Win_errhandler_function;
  static MPI_Errhandler get(MPI_Win window) {
    MPI_Errhandler there = MPI_ERRHANDLER_NULL;
    MPI_Win_get_errhandler(window, &there);
    return there;
  }
  static void set(MPI_Win window, MPI_Errhandler handler) { MPI_Win_set_errhandler(window, handler); }
  static void call(MPI_Win window, int code) { MPI_Win_call_errhandler(window, code); }
  static MPI_Errhandler make(Function* function) {
    MPI_Errhandler made = MPI_ERRHANDLER_NULL;
    MPI_Win_create_errhandler(function, &made);
    return made;
  }
  static Tells judge(ErrorJudge& judge, MPI_Win window, int code) { return judge.judge_window(window, code); }
};

// MPI 4.0 introduced this handler.
#ifdef MPI_ERRORS_ABORT
bool is_errors_abort(MPI_Errhandler handler) { return handler == MPI_ERRORS_ABORT; }
#else
bool is_errors_abort(MPI_Errhandler /*handler*/) { return false; }
#endif

bool is_predefined(MPI_Errhandler handler) {
  return handler == MPI_ERRORS_ARE_FATAL || handler == MPI_ERRORS_RETURN || is_errors_abort(handler);
}

template <class Kind>
Tells whom_to_tell(typename Kind::Object object, int code) {
  ErrorJudge* const judge = error_judge();
  return judge == nullptr ? Tells::anybody : Kind::judge(*judge, object, code);
}

// Handlers of Cairn's, which last as long as MPI.
struct StandIn {
  MPI_Errhandler meant;
  MPI_Errhandler of_comms;
  MPI_Errhandler returns;  // of communicators, too: no error is told
  MPI_Errhandler of_windows;
};

template <class Kind>
void on_error(typename Kind::Object* object, int* code, ...);
void ignore_error(MPI_Comm* /*comm*/, int* /*code*/, ...) {}

class StandIns {
 public:
  // The one for a handler. One that is not predefined must not be freed.
  StandIn of(MPI_Errhandler meant) {
    const std::scoped_lock lock(mutex_);
    for (const StandIn& one : all_)
      if (one.meant == meant) return one;
    const Unheard own;
    all_.push_back({.meant = meant,
                    .of_comms = OfComms::make(&on_error<OfComms>),
                    .returns = OfComms::make(&ignore_error),
                    .of_windows = OfWindows::make(&on_error<OfWindows>)});
    return all_.back();
  }
  // Nothing: it is none of them.
  std::optional<StandIn> find(MPI_Errhandler in_mpi) {
    const std::scoped_lock lock(mutex_);
    for (const StandIn& one : all_)
      if (one.of_comms == in_mpi || one.returns == in_mpi || one.of_windows == in_mpi) return one;
    return {};
  }

 private:
  std::mutex mutex_;
  std::vector<StandIn> all_;
};

// Never destroyed: static objects of the application may use MPI when the process ends.
StandIns& stand_ins() {
  static auto& one = *new StandIns;  // NOLINT(cppcoreguidelines-owning-memory)
  return one;
}

// What MPI has there, for as long as this object lives.
template <class Kind>
class There {
 public:
  explicit There(typename Kind::Object object) : handler_(Kind::get(object)) {}
  ~There() {
    if (handler_ != MPI_ERRHANDLER_NULL) MPI_Errhandler_free(&handler_);
  }
  There(const There&) = delete;
  There& operator=(const There&) = delete;
  [[nodiscard]] MPI_Errhandler handler() const { return handler_; }
  // It is not freed.
  void keep() { handler_ = MPI_ERRHANDLER_NULL; }

 private:
  Unheard own_;
  MPI_Errhandler handler_;
};

// The application's functions, by the handlers that MPI has made with the tap's. MPI uses the number of a handler that
// is gone again.
template <class Kind>
class Functions {
 public:
  using Function = typename Kind::Function;
  void add(MPI_Errhandler handler, Function* function) {
    const std::scoped_lock lock(mutex_);
    by_handler_[handler] = function;
  }
  [[nodiscard]] Function* find(MPI_Errhandler handler) {
    const std::scoped_lock lock(mutex_);
    const auto found = by_handler_.find(handler);
    return found == by_handler_.end() ? nullptr : found->second;
  }
  static Functions& all() {
    static auto& one = *new Functions;  // NOLINT(cppcoreguidelines-owning-memory)
    return one;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<MPI_Errhandler, Function*> by_handler_;
};

// For MPI: an error of an object that has a stand-in.
template <class Kind>
void on_error(typename Kind::Object* object, int* code, ...) {
  if (whom_to_tell<Kind>(*object, *code) != Tells::anybody) return;
  const There<Kind> there(*object);
  const auto stand_in = stand_ins().find(there.handler());
  if (!stand_in || stand_in->meant == MPI_ERRORS_RETURN) return;
  Kind::set(*object, stand_in->meant);
  {
    const Callback calls;
    Kind::call(*object, *code);
  }
  Kind::set(*object, there.handler());
}

// For MPI: the same where the handler is the application's own. MPI passes at least one more argument: Open MPI the
// name of the call.
template <class Kind>
void on_own_error(typename Kind::Object* object, int* code, ...) {
  std::va_list rest;
  va_start(rest, code);
  void* const more = va_arg(rest, void*);
  va_end(rest);
  const auto function = [&] { return Functions<Kind>::all().find(There<Kind>(*object).handler()); }();
  if (function == nullptr || whom_to_tell<Kind>(*object, *code) == Tells::nobody) return;
  const Callback calls;
  function(object, code, more, nullptr);
}

// What it means on a communicator or a window.
template <class Kind>
void tell_meant(typename Kind::Object object, MPI_Errhandler& handler) {
  const auto stand_in = stand_ins().find(handler);
  if (!stand_in) return;
  const Unheard own;
  // The application frees what it gets, so it needs a reference. MPI gives one only of what an object has.
  Kind::set(object, stand_in->meant);
  const MPI_Errhandler meant = Kind::get(object);
  Kind::set(object, handler);
  MPI_Errhandler_free(&handler);
  handler = meant;
}

bool is_of_application(MPI_Comm comm) {
  return comm == application_world() || is_cairns_too(comm) || member_of(comm) != nullptr || is_outside(comm);
}

// A handler that MPI calls without asking the judge.
bool needs_stand_in(MPI_Errhandler handler) {
  return is_predefined(handler) || Functions<OfComms>::all().find(handler) == nullptr;
}

}  // namespace

ErrorJudge*& error_judge() {
  static constinit ErrorJudge* one = nullptr;
  return one;
}

Judging::Judging(ErrorJudge& one) {
  error_judge() = &one;
  for (MPI_Comm comm : all_outside()) take_over(comm);
}

bool is_cairns_too(MPI_Comm comm) { return comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF; }

MPI_Errhandler in_place_of(MPI_Comm comm, MPI_Errhandler handler) {
  if (error_judge() == nullptr || !is_predefined(handler) || !is_of_application(comm)) return handler;
  const StandIn stand_in = stand_ins().of(handler);
  return is_cairns_too(comm) ? stand_in.returns : stand_in.of_comms;
}
MPI_Errhandler in_place_of_window(MPI_Errhandler handler) {
  return error_judge() == nullptr || !is_predefined(handler) ? handler : stand_ins().of(handler).of_windows;
}

void tell_meant(MPI_Comm comm, MPI_Errhandler& handler) { tell_meant<OfComms>(comm, handler); }
void tell_meant_of_window(MPI_Win window, MPI_Errhandler& handler) { tell_meant<OfWindows>(window, handler); }

MPI_Comm_errhandler_function* function_of_comms() { return &on_own_error<OfComms>; }
MPI_Win_errhandler_function* function_of_windows() { return &on_own_error<OfWindows>; }
void made_handler(MPI_Errhandler handler, MPI_Comm_errhandler_function* function) {
  Functions<OfComms>::all().add(handler, function);
}
void made_window_handler(MPI_Errhandler handler, MPI_Win_errhandler_function* function) {
  Functions<OfWindows>::all().add(handler, function);
}

void set_handler(MPI_Comm comm, MPI_Errhandler meant) {
  const Unheard own;
  const bool stands_in = error_judge() != nullptr && needs_stand_in(meant);
  OfComms::set(comm, stands_in ? stand_ins().of(meant).of_comms : meant);
}

void take_over(MPI_Comm comm) {
  if (is_cairns_too(comm)) return;
  const There<OfComms> there(comm);
  if (is_predefined(there.handler())) OfComms::set(comm, stand_ins().of(there.handler()).of_comms);
}
void take_over_window(MPI_Win window) {
  const There<OfWindows> there(window);
  if (is_predefined(there.handler())) OfWindows::set(window, stand_ins().of(there.handler()).of_windows);
}

void copy_handler(MPI_Comm from, MPI_Comm to) {
  const There<OfComms> there(from);
  const auto stand_in = stand_ins().find(there.handler());
  OfComms::set(to, stand_in ? stand_in->of_comms : there.handler());
}

void return_errors(MPI_Comm comm) {
  There<OfComms> there(comm);
  const auto known = stand_ins().find(there.handler());
  OfComms::set(comm, known ? known->returns : stand_ins().of(there.handler()).returns);
  if (!known && !is_predefined(there.handler())) there.keep();
}

void end_handling(MPI_Comm comm, bool is_void) {
  const There<OfComms> there(comm);
  if (const auto stand_in = stand_ins().find(there.handler()))
    OfComms::set(comm, is_void ? stand_in->returns : stand_in->meant);
}

}  // namespace cairn::tap
