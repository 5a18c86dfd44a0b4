// Does the application's messages and blocking collectives on some communicators in MPI's place. An observer records
// calls; a carrier makes them: it may repeat, replace or leave out what MPI would do. A process has at most one.
//
// The functions return MPI's codes, and have the arguments of the calls that they stand for. They run in the thread
// that makes the call, inside it, and may throw what the application is to get.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "tap/collectives.hpp"
#include "tap/interest.hpp"

namespace cairn::tap {

struct OutgoingMessage {
  const void* buffer = nullptr;
  MPI_Count count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int peer = MPI_PROC_NULL;
  int tag = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  bool synchronous = false;  // the call is over only when the message is received
  bool buffered = false;     // the call is over at once, and waits for no other process
};

struct IncomingMessage {
  void* buffer = nullptr;
  MPI_Count count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int peer = MPI_ANY_SOURCE;
  int tag = MPI_ANY_TAG;
  MPI_Comm comm = MPI_COMM_NULL;
};

// What a call waits for, or tests: which of its requests.
enum class Which { one, any, all, some };

// Where a call puts what it has found. Null: it has no such argument.
struct Completed {
  int* flag = nullptr;   // of a test; a call without it waits
  int* index = nullptr;  // of any
  int* done = nullptr;   // of some: how many, and which
  int* indices = nullptr;
  MPI_Status* statuses = MPI_STATUSES_IGNORE;  // one, or an array
};

// The neighbours that a rank gives a graph of which each rank gives its own; as many weights as neighbours, or none.
struct GivenNeighbours {
  bool has_weights = false;
  std::span<const int> sources;
  std::span<const int> source_weights;
  std::span<const int> targets;
  std::span<const int> target_weights;
};

// A call that makes a communicator of another one.
struct NewCommunicator {
  enum class Kind {
    plain,
    duplicate,  // it has the topology of its parent
    topology    // MPI knows a grid or graph of it, and not only its members
  };
  const char* call = "";
  Kind kind = Kind::plain;
  MPI_Comm parent = MPI_COMM_NULL;
  bool is_in = true;                 // its arguments make this rank a member
  std::uint64_t alike = 0;           // of its arguments, those that are alike on all members
  MPI_Group group = MPI_GROUP_NULL;  // that the call names
  bool is_of_group = false;          // only its members make the call
  std::optional<GivenNeighbours> neighbours = {};
};

// A call that no carrier makes.
struct OtherCall {
  const char* name = "";
  MPI_Comm comm = MPI_COMM_NULL;  // null: it has none
  bool lasts = false;           // it makes or uses something that the application may still use after the next snapshot
  bool reaches_others = false;  // processes that are not in the communicator
};

class Carrier {
 public:
  virtual ~Carrier() = default;

  // Whether the calls on this communicator are carried, or come to the carrier's notice.
  [[nodiscard]] virtual bool carries(MPI_Comm comm) const = 0;
  // All other calls on that communicator are made on this one. Requires: carries(comm).
  [[nodiscard]] virtual MPI_Comm stand_in(MPI_Comm comm) const = 0;

  virtual int send(const OutgoingMessage& message) = 0;
  virtual int receive(const IncomingMessage& message, MPI_Status* status) = 0;
  virtual int exchange(const OutgoingMessage& out, const IncomingMessage& in, MPI_Status* status) = 0;
  virtual int begin_send(const OutgoingMessage& message, MPI_Request* request) = 0;
  virtual int begin_receive(const IncomingMessage& message, MPI_Request* request) = 0;
  // The same with a request that is to be started later, as often as one likes.
  virtual int prepare_send(const OutgoingMessage& message, MPI_Request* request) = 0;
  virtual int prepare_receive(const IncomingMessage& message, MPI_Request* request) = 0;
  // Starts one request, or several. Requires: has_any(requests).
  virtual int start(std::span<MPI_Request> requests) = 0;
  // Waits until the buffered messages of this process are sent, as MPI_Buffer_detach does.
  virtual int finish_buffered() = 0;
  // Null `flag`: waits for a message.
  virtual int probe(MPI_Comm comm, int peer, int tag, int* flag, MPI_Status* status) = 0;
  // The same, and only receive_matched() gets the message.
  virtual int match(MPI_Comm comm, int peer, int tag, int* flag, MPI_Message* message, MPI_Status* status) = 0;
  [[nodiscard]] virtual bool has_matched(MPI_Message message) const = 0;
  // Null `request`: the call is over when the message is received. Requires: has_matched(*message).
  virtual int receive_matched(const IncomingMessage& into, MPI_Message* message, MPI_Status* status,
                              MPI_Request* request) = 0;
  virtual int collective(const collectives::Any& call) = 0;

  // Whether it has made any of these requests.
  [[nodiscard]] virtual bool has_any(std::span<const MPI_Request> requests) const = 0;
  // Requires: has_any(requests).
  virtual int complete(Which which, std::span<MPI_Request> requests, const Completed& completed) = 0;
  virtual int free(MPI_Request* request) = 0;
  virtual int look_at(MPI_Request request, int* flag, MPI_Status* status) = 0;

  virtual int cancel(MPI_Request* request) = 0;

  // The application makes a communicator of a parent on which calls are carried. `make`: MPI's own call, of another
  // parent, and of another group in place of the call's; null: of that. Nothing: this one is not carried.
  virtual std::optional<int> makes_communicator(const NewCommunicator& one, MPI_Comm* made,
                                                const std::function<int(MPI_Comm, MPI_Group)>& make) = 0;
  // The application has set an error handler on a communicator.
  virtual void sets_handler(MPI_Comm comm, MPI_Errhandler handler) = 0;
  // The application is about to free a communicator, if it is carried; and has freed it.
  virtual void frees(MPI_Comm comm) = 0;
  virtual void freed(MPI_Comm comm) = 0;

  // The application makes another call, on this or another communicator, or without one. MPI_SUCCESS: it continues;
  // otherwise the call returns this code.
  virtual int makes_other(const OtherCall& call) = 0;
};

// The one of this process; null: there is none.
[[nodiscard]] Carrier*& carrier();

// While this object lives, `carrier` is the process's.
class Carrying {
 public:
  explicit Carrying(Carrier& one) { carrier() = &one; }
  ~Carrying() { carrier() = nullptr; }
  Carrying(const Carrying&) = delete;
  Carrying& operator=(const Carrying&) = delete;

 private:
  Interest interest_;
};

}  // namespace cairn::tap
