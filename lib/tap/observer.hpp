// Who wants to know what the application says to MPI on the communicators of its session: plain records, no MPI. A
// process has any number of observers, and each hears everything.
//
// The calls come in the thread that makes the MPI call, and threads may call at the same time. They may not throw, nor
// wait for another process. Observers come and go while no thread is inside a call of MPI.
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
  // With the time when it ended.
  virtual void ended(const CallRecord& call) = 0;
  // The same of a call that has asked, and there was nothing.
  virtual void asked_in_vain(const CallRecord& call) = 0;

  // There is a request: of a call that goes on, or, not active, of one that may be started again and again.
  virtual void posted(const CallRecord& request) = 0;
  virtual void started(std::uint64_t request) = 0;
  // The call that this thread has begun waits for it.
  virtual void awaited(std::uint64_t request) = 0;
  // That call has ended, and the request is not complete.
  virtual void still_pending(std::uint64_t request) = 0;
  // It is complete. Unless it `persists` its number may come again for another one.
  virtual void completed(std::uint64_t request, bool persists) = 0;

  // From now on it is not known how many messages like this one there are.
  virtual void lost_count(const CallRecord& message) = 0;
  // The request may end without its message.
  virtual void cancelled(std::uint64_t request) = 0;

  // A communicator of the session's family is there, and is no more.
  virtual void joined(const CommRecord& comm) = 0;
  virtual void left(std::uint64_t comm) = 0;
  // The application has given it a name.
  virtual void named(std::uint64_t comm, std::string_view name) = 0;
};

}  // namespace cairn::tap
