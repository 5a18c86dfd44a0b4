// A communicator that outlives deaths of its members, as MPI's fault tolerance (ULFM) defines it: what a pool of
// processes needs to repair its job. Over MPI it is repair/mpi_ulfm_comm; tests have one between threads.
//
// A member learns of a death some time after it, and not all members learn of it at once. Collective calls then fail,
// but perhaps not on all members; only agree() and shrink() give the same on all live members. After a revocation all
// calls fail but those two.
//
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace cairn {

// What the live members have agreed on, the same on all of them.
struct Agreed {
  int word = 0;          // the bitwise and of their words
  bool all_live = true;  // no member has died
};

// Called again and again in a wait. It can end the wait by an error, or by the word that others are known to have
// agreed on.
using Meanwhile = std::function<Result<std::optional<int>>()>;

// New processes of this program, on one host.
struct NewProcesses {
  std::uint32_t starter = 0;  // the member that starts them, on its host
  std::string host;           // its name; empty: there is only one host
  std::size_t count = 0;
  std::string variable;  // "NAME=value" in their environment
};

class UlfmComm {
 public:
  using Ptr = std::shared_ptr<UlfmComm>;
  UlfmComm() = default;
  virtual ~UlfmComm() = default;
  UlfmComm(const UlfmComm&) = delete;
  UlfmComm& operator=(const UlfmComm&) = delete;

  [[nodiscard]] virtual std::uint32_t rank() const = 0;
  [[nodiscard]] virtual std::uint32_t size() const = 0;

  // Local. Lets news of deaths and revocations come, which they do in calls only.
  virtual void let_news_come() = 0;
  // Local. Waits a little for the news of a death: to be called before an agreement after a failure.
  virtual void wait_for_news() = 0;
  // Local. The members that this process knows to have died.
  [[nodiscard]] virtual std::vector<std::uint32_t> failed_members() const = 0;
  [[nodiscard]] virtual bool is_revoked() const = 0;
  // Local. Calls of all members fail from now on, also those that wait.
  virtual void revoke() = 0;
  // Local. Sends an empty message; a member that has died needs none.
  virtual void notify(std::uint32_t member) = 0;
  // Local. Receives one, if it has come.
  [[nodiscard]] virtual bool receive_notice(std::uint32_t from) = 0;

  // Collective among the live members. `meanwhile` is for members that may come late: the wait then sleeps most of the
  // time.
  [[nodiscard]] virtual Result<Agreed> agree(int word, const Meanwhile& meanwhile = {}) = 0;
  // Collective among the live members: a communicator of them, in the same order.
  [[nodiscard]] virtual Result<Ptr> shrink() = 0;

  // Collective. `all`: by member, `mine.size()` bytes each, the same number on all members.
  [[nodiscard]] virtual Status gather(Bytes mine, MutableBytes all) = 0;
  // Collective. What member 0 gives, on the others.
  [[nodiscard]] virtual Result<Buffer> broadcast(Bytes mine) = 0;
  // Collective. The members that are `in`, by `key`. Null on the others.
  [[nodiscard]] virtual Result<Ptr> split(bool in, std::uint32_t key) = 0;
  // Collective. Starts processes. Returns a communicator of its members, then the newcomers; null if no process can be
  // started there, after which this communicator is as it was. The same on all members. On failure this communicator
  // may be revoked, and there may be new processes that are in none. One host at a time.
  [[nodiscard]] virtual Result<Ptr> grow(const NewProcesses& what) = 0;
};

}  // namespace cairn
