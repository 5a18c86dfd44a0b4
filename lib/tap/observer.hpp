// Receives the application's MPI calls on the communicators of its session, as plain records without MPI types. A
// process has any number of observers; each receives all calls.
//
// The functions run in the thread that makes the MPI call; several threads may run them at the same time. They must not
// throw or wait for another process. Observers are added and removed while no thread is inside an MPI call.
#pragma once

#include <cstdint>
#include <string_view>

#include "format/call_record.hpp"

namespace cairn::tap {

class Observer {
 public:
  virtual ~Observer() = default;
  // A call begins. It is this thread's only one until it ends.
  virtual void began(const CallRecord& call) = 0;
  // The call has ended; the record has the time.
  virtual void ended(const CallRecord& call) = 0;
  // The same for a call that tested or probed without success.
  virtual void asked_in_vain(const CallRecord& call) = 0;

  // A request exists: active, or persistent and not started yet.
  virtual void posted(const CallRecord& request) = 0;
  virtual void started(std::uint64_t request) = 0;
  // The call that this thread has begun waits for it.
  virtual void awaited(std::uint64_t request) = 0;
  // That call has ended, and the request is not complete.
  virtual void still_pending(std::uint64_t request) = 0;
  // It is complete. Unless it `persists`, its number may be reused for another request.
  virtual void completed(std::uint64_t request, bool persists) = 0;

  // From now on the number of messages like this one is unknown.
  virtual void lost_count(const CallRecord& message) = 0;
  // The request may end without its message.
  virtual void cancelled(std::uint64_t request) = 0;

  // A communicator of the session's family was made, or was freed.
  virtual void joined(const CommRecord& comm) = 0;
  virtual void left(std::uint64_t comm) = 0;
  // The application has given it a name.
  virtual void named(std::uint64_t comm, std::string_view name) = 0;
};

}  // namespace cairn::tap
