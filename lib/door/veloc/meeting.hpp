// Ranks compare the collective calls that they make. If one of them makes another call, or has failed, all of them
// learn it before any of them waits for the others.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

#include <cairn/error.hpp>

namespace cairn::door {

// An error that a rank has said.
class Reported : public Exception {
 public:
  using Exception::Exception;
};

// An error that all ranks have at one call, with the same text.
class OfAll : public Exception {
 public:
  using Exception::Exception;
};

// Whether it is an error of the whole job, sooner or later.
[[nodiscard]] bool is_of_all(ErrorKind kind);

// What the ranks of one call have said together.
struct Met {
  bool all_fine = true;  // no rank has failed
  bool any = false;      // `mine` of any rank
  int highest = 0;       // `number` of all ranks
};

// What a rank says at a meeting.
struct Said {
  bool fine = true;
  bool mine = false;
  int number = 0;
};

class Meeting {
 public:
  // Collective over `comm`, of which it makes a duplicate.
  explicit Meeting(MPI_Comm comm);
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  // `call`: which call this rank makes, with what must be the same everywhere. Collective.
  // Throws: OfAll of kind `mismatch` if their calls differ; the text names two of them.
  [[nodiscard]] Met meet(const std::string& call, const Said& said) const;

  // Returns after all ranks have come here. Collective. Throws: as meet().
  void wait_for_all() const;
  // A collective call of Cairn has failed on all ranks, not always for one reason. Rank 0 says it for all, or each rank
  // what it has. Then throws Reported, after all have said it: a program may end the job at once. Collective.
  [[noreturn]] void report(ErrorKind kind, const std::string& text) const;

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace cairn::door
