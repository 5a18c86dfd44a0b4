// A Comm joins the members of one communicator: point-to-point messages, a few collectives, and splitting. Everything
// in Cairn communicates through this port. mpi/ implements it over MPI; ThreadComm implements it among threads of one
// process, for tests. A function of Cairn is collective if and only if its first parameter is a Comm&.
//
// Messages between two members with one tag arrive in the order sent. A buffer given to isend or irecv belongs to the
// caller and must stay until the request is done. A send to oneself completes without a receive. Collectives
// (iallreduce, allreduce, allgather, broadcast, barrier, split) must be called by every member in the same order. A
// call that finds a peer dead returns Code::communication.
//
// Blocking calls sleep while they wait, and run the function set by on_wait() meanwhile.
// One thread at a time per Comm, except that the MPI one takes several under MPI_THREAD_MULTIPLE.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"

namespace cairn {

using Tag = Id<struct MessageTag>;  // 0 … 32767

// An operation under way. Destroying an unfinished request waits for it, or cancels it when it cannot end.
class Request {
 public:
  virtual ~Request() = default;
  // True once it is done, and always afterwards.
  [[nodiscard]] virtual Result<bool> test() = 0;
};

struct Envelope {
  Peer source;
  Tag tag;
  std::size_t size_bytes;
};

enum class Reduce { sum, max, min, bit_or, bit_and };

class Comm {
 public:
  virtual ~Comm() = default;

  [[nodiscard]] virtual Peer rank() const = 0;
  [[nodiscard]] virtual std::uint32_t size() const = 0;

  [[nodiscard]] virtual std::unique_ptr<Request> isend(Peer to, Tag tag, Bytes message) = 0;
  // `into` must hold the message; a longer one is an error.
  [[nodiscard]] virtual std::unique_ptr<Request> irecv(Peer from, Tag tag, MutableBytes into) = 0;
  // The next message with `tag`, from any member, that has arrived and was not received yet; none: there is no such
  // message.
  [[nodiscard]] virtual Result<std::optional<Envelope>> probe(Tag tag) = 0;

  // Reduces element by element; the result replaces `values` on every member. Non-blocking.
  [[nodiscard]] virtual std::unique_ptr<Request> iallreduce(std::span<std::uint64_t> values, Reduce how) = 0;
  // Everyone's bytes, of any length each, in rank order.
  [[nodiscard]] virtual Result<std::vector<Buffer>> allgather(Bytes mine) = 0;
  // `root`'s bytes, of any length; what others pass is ignored.
  [[nodiscard]] virtual Result<Buffer> broadcast(Bytes mine, Peer root) = 0;
  [[nodiscard]] virtual Status barrier() = 0;
  // Members with the same color form a new Comm, ordered by key, then by rank here. A member without a color gets no
  // Comm. Members that come early may use their processors meanwhile: to be called where all come at once.
  [[nodiscard]] virtual Result<std::unique_ptr<Comm>> split(std::optional<std::uint32_t> color, std::uint32_t key) = 0;

  // Sets the function that blocking calls on this Comm run while they wait. It returns whether it made progress.
  virtual void on_wait(std::function<bool()> work) = 0;
  // Runs that function once, or sleeps for a moment that grows while nothing happens (reset by `progress`).
  virtual void idle(bool progress) = 0;
  // Members whose processes are reported as dead, as far as this member knows. After a call has failed, may wait some
  // milliseconds for the reports. Local. A revoked communicator alone names nobody.
  [[nodiscard]] virtual std::vector<Peer> dead_members() const { return {}; }

  // Built from the above, the same for every implementation.
  [[nodiscard]] Status wait(Request& request);
  [[nodiscard]] Status send(Peer to, Tag tag, Bytes message);
  [[nodiscard]] Status recv(Peer from, Tag tag, MutableBytes into);
  [[nodiscard]] Result<Buffer> recv_probed(const Envelope& envelope);
  [[nodiscard]] Status allreduce(std::span<std::uint64_t> values, Reduce how);
};

// Success on all members if all succeeded, else an error on all of them: a member that failed gets its own error; each
// other member gets the error of the lowest-ranked one that failed, with that one named in front, by `member` and its
// number: "node 3: …". Collective.
[[nodiscard]] Status agree(Comm& comm, const Status& mine, std::string_view member = "member");

}  // namespace cairn
