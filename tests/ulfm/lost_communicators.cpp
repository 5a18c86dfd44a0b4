// A small application for the tests beside this file, which makes its communicators after restore(): all that a
// replacement can get again in each way that there is to make them, some of which it keeps, and some of which it makes
// and frees in the steps.
//
//   lost_communicators all --steps N --config FILE --output FILE --pause-ms N
//
// It shows what it has computed as lost_steps does.
#include <mpi.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <cairn/cairn.hpp>

#include "lost_program.hpp"
#include "options.hpp"

namespace {

using lost::mix;
using lost::Place;

constexpr std::int64_t kRegroups = 3;  // steps from one grouping to the next

// Messages and collectives on it.
void use(MPI_Comm comm, std::uint64_t& sum) {
  if (comm == MPI_COMM_NULL) return;
  const Place at(comm);
  std::uint64_t theirs = 0;
  MPI_Sendrecv(&sum, 1, MPI_UINT64_T, (at.rank + 1) % at.size, 6, &theirs, 1, MPI_UINT64_T,
               (at.rank + at.size - 1) % at.size, 6, comm, MPI_STATUS_IGNORE);
  sum = mix(sum, theirs);
  std::uint64_t all = 0;
  MPI_Allreduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, comm);
  sum = mix(sum, all);
}

// Of the first ranks, in the other order.
MPI_Comm make_group(MPI_Comm comm, int ranks, int tag) {
  std::vector<int> members;
  for (int rank = ranks - 1; rank >= 0; --rank) members.push_back(rank);
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group some = MPI_GROUP_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_group(comm, &group);
  MPI_Group_incl(group, ranks, members.data(), &some);
  MPI_Comm_create_group(comm, some, tag, &made);
  MPI_Group_free(&some);
  MPI_Group_free(&group);
  return made;
}

// What a program keeps while it runs.
class Kept {
 public:
  explicit Kept(MPI_Comm comm) {
    const Place at(comm);
    MPI_Comm_dup(comm, &add());
    MPI_Comm_dup_with_info(all_.front(), MPI_INFO_NULL, &add());
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &add());
    make_group_without_last(comm, at);
    make_rows(comm, at);
    make_graph(comm, at);
    make_group_of_first(comm, at);
    // Of this one only some are members.
    MPI_Comm_split(comm, at.rank < 2 ? 0 : MPI_UNDEFINED, at.size - at.rank, &add());
  }
  ~Kept() {
    for (MPI_Comm& comm : all_)
      if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  void use_all(std::uint64_t& sum) const {
    for (const MPI_Comm comm : all_) use(comm, sum);
  }

 private:
  MPI_Comm& add() { return all_.emplace_back(MPI_COMM_NULL); }
  void make_group_without_last(MPI_Comm comm, const Place& at) {
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Group some = MPI_GROUP_NULL;
    MPI_Comm_group(comm, &group);
    const int last = at.size - 1;
    MPI_Group_excl(group, 1, &last, &some);
    MPI_Comm_create(comm, some, &add());
    MPI_Group_free(&some);
    MPI_Group_free(&group);
  }
  // The grid is needed only until its rows and columns are made.
  void make_rows(MPI_Comm comm, const Place& at) {
    const std::array lengths{at.size / 2, 2};
    const std::array periodic{1, 1};
    MPI_Comm grid = MPI_COMM_NULL;
    MPI_Cart_create(comm, 2, lengths.data(), periodic.data(), 0, &grid);
    const std::array row{0, 1};
    const std::array column{1, 0};
    MPI_Cart_sub(grid, row.data(), &add());
    MPI_Cart_sub(grid, column.data(), &add());
    MPI_Comm_free(&grid);
  }
  void make_graph(MPI_Comm comm, const Place& at) {
    std::vector<int> index;
    std::vector<int> edges;
    for (int rank = 0; rank < at.size; ++rank) {
      index.push_back(rank + 1);
      edges.push_back((rank + 1) % at.size);
    }
    MPI_Graph_create(comm, at.size, index.data(), edges.data(), 0, &add());
  }
  // The last one does not make the call.
  void make_group_of_first(MPI_Comm comm, const Place& at) {
    if (at.rank + 1 < at.size) add() = make_group(comm, at.size - 1, 5);
  }
  std::vector<MPI_Comm> all_;
};

// Ranks that work together for some steps.
class Groups {
 public:
  explicit Groups(MPI_Comm comm) : comm_(comm), at_(comm) {}
  ~Groups() { free(); }
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  // Before the steps, as the last grouping was; at its step the loop does it.
  void restore(std::int64_t step) {
    if (step % kRegroups != 0) make(step - step % kRegroups);
  }
  MPI_Comm at(std::int64_t step) {
    if (step % kRegroups == 0) make(step);
    return mine_;
  }

 private:
  void make(std::int64_t step) {
    free();
    MPI_Comm_split(comm_, static_cast<int>(at_.rank + step / kRegroups) % 2, 0, &mine_);
  }
  void free() {
    if (mine_ != MPI_COMM_NULL) MPI_Comm_free(&mine_);
  }
  MPI_Comm comm_;
  Place at_;
  MPI_Comm mine_ = MPI_COMM_NULL;
};

// Groups of the step, which only their members make, and then all ranks.
void use_group_for_this_step(MPI_Comm comm, const Place& at, std::int64_t step, std::uint64_t& sum) {
  const int ranks = 2 + static_cast<int>(step % (at.size - 1));
  for (int i = 0; i < 2 && at.rank < ranks; ++i) {
    MPI_Comm some = make_group(comm, ranks, 5 + i);
    use(some, sum);
    MPI_Comm_free(&some);
  }
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_group(comm, &group);
  MPI_Comm all = MPI_COMM_NULL;
  MPI_Comm_create(comm, group, &all);
  MPI_Group_free(&group);
  use(all, sum);
  MPI_Comm_free(&all);
}

void use_for_this_step(MPI_Comm comm, std::int64_t step, std::uint64_t& sum) {
  const Place at(comm);
  MPI_Comm some = MPI_COMM_NULL;
  MPI_Comm_split(comm, (at.rank + static_cast<int>(step)) % 3 == 0 ? 1 : 0, at.rank, &some);
  use(some, sum);
  MPI_Comm child = MPI_COMM_NULL;
  MPI_Comm_dup(some, &child);
  MPI_Comm_free(&some);
  use(child, sum);
  MPI_Comm_free(&child);
  use_group_for_this_step(comm, at, step, sum);
}

void compute(cairn::Session& session, const Options& options) {
  std::int64_t step = 0;
  std::uint64_t sum = session.rank();
  session.protect("step", step);
  session.protect("sum", sum);
  session.restore();
  {
    const Kept kept(session.comm());
    Groups groups(session.comm());
    groups.restore(step);
    lost::take_steps(session, options, step, [&] {
      kept.use_all(sum);
      use(groups.at(step), sum);
      use_for_this_step(session.comm(), step, sum);
      return sum;
    });
  }
  lost::write_sums(options.output, sum, session);
}

}  // namespace

int main(int argc, char** argv) { return lost::run(argc, argv, compute); }
