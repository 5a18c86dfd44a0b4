// The session of a program in C, and how its calls turn exceptions into codes.
#pragma once

#include <exception>
#include <memory>
#include <new>
#include <string>

#include <cairn/cairn.h>
#include <cairn/cairn.hpp>

#include "base/log.hpp"
#include "repair/failure_vote.hpp"
#include "repair/resilient.hpp"

// Either cairn_init has made it, and it owns the session; or cairn_run lends it one.
struct cairn_session {
 public:
  cairn_session(std::unique_ptr<cairn::Resilient> repairs, std::unique_ptr<cairn::Session> opened,
                std::unique_ptr<cairn::FailureVote> votes);
  // Collective over the ranks of the session.
  explicit cairn_session(cairn::Session& of_cairn_run);

  [[nodiscard]] bool is_lent() const { return lent_ != nullptr; }
  // Null between a failure and cairn_recover.
  [[nodiscard]] cairn::Session* open() const { return lent_ != nullptr ? lent_ : session.get(); }
  // Whether the job repairs itself. Requires: there is a session.
  [[nodiscard]] bool is_repairable() const;
  // As its configuration wants it. Requires: there is a session.
  [[nodiscard]] const cairn::Log& log() const;
  // A region that replaces another one, and is no part of a global array, has the kind of that one. Requires: there is
  // a session.
  void protect(const std::string& name, cairn::detail::RegionAccess access) const;
  // The session owns the path. Requires: there is a session.
  [[nodiscard]] const std::string& scratch_file(const std::string& name) const;
  // Requires: there is a session.
  void set_kind(const std::string& name, cairn::detail::AnyKind kind) const;

  std::unique_ptr<cairn::Resilient> job = {};     // where it repairs itself
  std::unique_ptr<cairn::Session> session = {};   // none between a failure and cairn_recover
  std::unique_ptr<cairn::FailureVote> vote = {};  // where it does not repair itself
  mutable std::string storage_error = {};         // as it was last asked for
  int readers = 0;                                // that are open

 private:
  [[nodiscard]] cairn::SessionBase& base() const;
  cairn::Session* lent_ = nullptr;
};

namespace cairn::bind {

// Logs the error of a call, once if all ranks have it, and keeps its text. Returns the code. Inside cairn_run a
// rollback is thrown again. To be called by who handles the exception.
int refuse(const cairn_session& session, const Exception& error, int code);
// The same where all processes of a job that repairs itself have the error.
int refuse(const Resilient& job, const Exception& error, int code);

// Inverse pair.
[[nodiscard]] int code_of(ErrorKind kind);
[[nodiscard]] ErrorKind kind_of(int code);

[[nodiscard]] std::string text_or_empty(const char* text);

// `refused` gets an error and its code, and returns the code.
template <class Call, class Refused>
int guarded(Call call, Refused refused) {
  try {
    return call();
  } catch (const Exception& error) {
    return refused(error, code_of(error.kind()));
  } catch (const std::bad_alloc&) {
    return refused(Exception(ErrorKind::storage, "out of memory"), CAIRN_ERR_STORAGE);
  } catch (const std::exception& error) {
    return refused(Exception(ErrorKind::usage, error.what()), CAIRN_ERR_USAGE);
  }
}

int refuse_null_session();

// Runs `call` with the session, when there is one.
template <class Call>
int with(const cairn_session* session, Call call) {
  if (session == nullptr || session->open() == nullptr) return refuse_null_session();
  return guarded([&] { return call(*session->open()); },
                 [&](const Exception& error, int code) { return refuse(*session, error, code); });
}

}  // namespace cairn::bind
