// The messages of a collective call, and what its algorithms need to place data: elements of MPI's datatypes in memory.
//
// All functions throw Failed where MPI, or the job, has failed.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "mpi/payload.hpp"

namespace cairn::collectives {

// The call returns this code.
struct Failed {
  int code;
  bool raised;  // the application's error handler has had it
};

// Elements in the application's memory.
struct Source {
  const void* at;
  MPI_Count count;
  MPI_Datatype type;
};
struct Target {
  void* at;
  MPI_Count count;
  MPI_Datatype type;
  [[nodiscard]] operator Source() const { return {at, count, type}; }  // NOLINT(google-explicit-constructor)
};

// Elements, and the rank that gets them, or that they come from.
struct Sent {
  Source what;
  int to;
};
struct Received {
  Target into;
  int from;
};

// Messages that use their memory until they are over, and why a later one could not begin.
struct Begun {
  std::vector<MPI_Request> requests;
  int code = MPI_SUCCESS;
};
// Begins them in this order, up to the first that fails. The functions return MPI's code.
template <class BeginReceive, class BeginSend>
Begun begin_all(std::span<const Sent> sent, std::span<const Received> received, BeginReceive begin_receive,
                BeginSend begin_send) {
  Begun begun;
  const auto begin = [&](const auto& one, const auto& begin_one) {
    if (begun.code != MPI_SUCCESS) return;
    MPI_Request request = MPI_REQUEST_NULL;
    begun.code = begin_one(one, &request);
    if (begun.code == MPI_SUCCESS) begun.requests.push_back(request);
  };
  for (const Received& one : received) begin(one, begin_receive);
  for (const Sent& one : sent) begin(one, begin_send);
  return begun;
}

// Messages among the ranks of one communicator, which meet no others there. Two ranks send and receive theirs in the
// same order.
class Messages {
 public:
  virtual ~Messages() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  virtual void send(const Source& what, int to) = 0;
  virtual void receive(const Target& into, int from) = 0;
  // Both at once. A peer may be MPI_PROC_NULL.
  virtual void exchange(const Source& what, int to, const Target& into, int from) {
    const Sent sent{what, to};
    const Received received{into, from};
    exchange_all({&sent, 1}, {&received, 1});
  }
  // All at once. Those of the same two ranks meet in the order of the lists.
  virtual void exchange_all(std::span<const Sent> sent, std::span<const Received> received) = 0;
};

// A code that the application's error handler has not had.
void check(int code);

[[nodiscard]] MPI_Aint extent_of(MPI_Datatype type);
// Of `count` elements, without gaps.
[[nodiscard]] MPI_Count bytes_of(MPI_Count count, MPI_Datatype type);

// Where element `place` is.
[[nodiscard]] inline const void* element_of(const void* first, MPI_Count place, MPI_Datatype type) {
  return static_cast<const std::byte*>(first) + place * extent_of(type);
}
[[nodiscard]] inline void* element_of(void* first, MPI_Count place, MPI_Datatype type) {
  return static_cast<std::byte*>(first) + place * extent_of(type);
}

// Where blocks of so many elements begin that lie one after another; the last number is their end.
[[nodiscard]] std::vector<MPI_Count> begins_of(std::span<const int> counts);

// As a message that a rank sends to itself; `piece` as in pack_elements().
void copy(const Source& from, const Target& to, MPI_Count piece = kLongestPiece);
// Elements as bytes, and back.
[[nodiscard]] Buffer pack(const Source& from);
void unpack(Bytes bytes, const Target& to);
[[nodiscard]] inline Source bytes_source(Bytes bytes) {
  return {bytes.data(), static_cast<MPI_Count>(bytes.size()), MPI_BYTE};
}
[[nodiscard]] inline Target bytes_target(MutableBytes bytes) {
  return {bytes.data(), static_cast<MPI_Count>(bytes.size()), MPI_BYTE};
}

// Memory for elements of any type, gaps and all.
class Elements {
 public:
  Elements(MPI_Count count, MPI_Datatype type);
  explicit Elements(const Source& copied) : Elements(copied.count, copied.type) { copy(copied, all()); }
  [[nodiscard]] Target all() { return {first(), count_, type_}; }
  [[nodiscard]] Target part(MPI_Count place, MPI_Count count) {
    return {element_of(first(), place, type_), count, type_};
  }

 private:
  [[nodiscard]] void* first() { return memory_.data() - before_; }

  MPI_Count count_;
  MPI_Datatype type_;
  MPI_Aint before_ = 0;  // from where an element begins to its first byte
  std::vector<std::byte> memory_;
};

}  // namespace cairn::collectives
