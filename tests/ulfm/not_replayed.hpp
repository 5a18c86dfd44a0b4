// What a replacement cannot compute again alone, or only with more than messages: calls that are played by all ranks of
// a ring between two snapshot() calls.
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace not_replayed {

constexpr int kMany = 90000;  // words, 0.7 MiB

struct Ring {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int left = 0;
  int right = 0;

  explicit Ring(MPI_Comm of) : comm(of) {
    int size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
  }
  // One word to the right, one from the left, that nobody looks at.
  void pass(int tag) const {
    std::uint64_t mine = 1;
    std::uint64_t theirs = 0;
    MPI_Sendrecv(&mine, 1, MPI_UINT64_T, right, tag, &theirs, 1, MPI_UINT64_T, left, tag, comm, MPI_STATUS_IGNORE);
  }
  [[nodiscard]] MPI_Request begin_to_send(const std::uint64_t& word, int tag) const {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(&word, 1, MPI_UINT64_T, right, tag, comm, &request);
    return request;
  }
  [[nodiscard]] MPI_Request begin_to_receive(std::uint64_t& word, int peer, int tag) const {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&word, 1, MPI_UINT64_T, peer, tag, comm, &request);
    return request;
  }
};

inline void complete(MPI_Request& request) { MPI_Wait(&request, MPI_STATUS_IGNORE); }

inline void match(const Ring& ring) {
  const std::uint64_t mine = 1;
  std::uint64_t theirs = 0;
  MPI_Request request = ring.begin_to_send(mine, 3);
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Mprobe(ring.left, 3, ring.comm, &message, MPI_STATUS_IGNORE);
  MPI_Mrecv(&theirs, 1, MPI_UINT64_T, &message, MPI_STATUS_IGNORE);
  complete(request);
}

inline void cancel(const Ring& ring) {
  std::uint64_t nothing = 0;
  MPI_Request request = ring.begin_to_receive(nothing, ring.left, 4);
  MPI_Cancel(&request);
  complete(request);
}

// The buffer is used again when an answer says that the message has come.
inline void free_while_pending(const Ring& ring) {
  const std::uint64_t mine = 1;
  std::uint64_t theirs = 0;
  MPI_Request request = ring.begin_to_send(mine, 3);
  MPI_Request_free(&request);
  MPI_Recv(&theirs, 1, MPI_UINT64_T, ring.left, 3, ring.comm, MPI_STATUS_IGNORE);
  MPI_Sendrecv(nullptr, 0, MPI_UINT64_T, ring.left, 4, nullptr, 0, MPI_UINT64_T, ring.right, 4, ring.comm,
               MPI_STATUS_IGNORE);
}

// It is not started: for that Open MPI 5.0 needs all ranks of the world, heads and spares, too.
inline void prepare_partitioned(const Ring& ring) {
  std::uint64_t mine = 1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Psend_init(&mine, 1, 1, MPI_UINT64_T, ring.right, 3, ring.comm, MPI_INFO_NULL, &request);
  MPI_Request_free(&request);
}

inline void gather_from_neighbours(const Ring& ring) {
  int size = 0;
  MPI_Comm_size(ring.comm, &size);
  const int periodic = 1;
  MPI_Comm circle = MPI_COMM_NULL;
  MPI_Cart_create(ring.comm, 1, &size, &periodic, 0, &circle);
  const std::uint64_t mine = 1;
  std::array<std::uint64_t, 2> theirs{};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ineighbor_allgather(&mine, 1, MPI_UINT64_T, theirs.data(), 1, MPI_UINT64_T, circle, &request);
  complete(request);
  MPI_Comm_free(&circle);
}

inline void pass_in_a_group(const Ring& ring) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm all = MPI_COMM_NULL;
  MPI_Comm_group(ring.comm, &group);
  MPI_Comm_create_group(ring.comm, group, 3, &all);
  MPI_Group_free(&group);
  Ring(all).pass(3);
  MPI_Comm_free(&all);
}

inline void make_graph_of_neighbours(const Ring& ring) {
  MPI_Comm circle = MPI_COMM_NULL;
  const int degree = 1;
  MPI_Dist_graph_create(ring.comm, 1, &ring.rank, &degree, &ring.right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &circle);
  MPI_Comm_free(&circle);
}

inline void begin_to_duplicate(const Ring& ring) {
  MPI_Comm all = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm_idup(ring.comm, &all, &request);
  complete(request);
  MPI_Comm_free(&all);
}

// Rank 0, and the others, with words between the two.
class TwoGroups {
 public:
  explicit TwoGroups(const Ring& ring) {
    const int side = ring.rank == 0 ? 0 : 1;
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm_split(ring.comm, side, 0, &half);
    MPI_Intercomm_create(half, 0, ring.comm, side == 0 ? 1 : 0, 3, &both_);
    MPI_Comm_free(&half);
  }
  ~TwoGroups() { MPI_Comm_free(&both_); }
  TwoGroups(const TwoGroups&) = delete;
  TwoGroups& operator=(const TwoGroups&) = delete;

  // Each rank with each of the other group.
  void pass() const {
    int others = 0;
    MPI_Comm_remote_size(both_, &others);
    for (int other = 0; other < others; ++other) {
      std::uint64_t mine = 1;
      std::uint64_t theirs = 0;
      MPI_Sendrecv(&mine, 1, MPI_UINT64_T, other, 3, &theirs, 1, MPI_UINT64_T, other, 3, both_, MPI_STATUS_IGNORE);
    }
  }

 private:
  MPI_Comm both_ = MPI_COMM_NULL;
};

// Rank 0 has no communicator of its own group to give.
inline void join_self(const Ring& ring) {
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm both = MPI_COMM_NULL;
  MPI_Comm_split(ring.comm, ring.rank == 0 ? 0 : 1, 0, &half);
  MPI_Intercomm_create(ring.rank == 0 ? MPI_COMM_SELF : half, 0, ring.comm, ring.rank == 0 ? 1 : 0, 3, &both);
  MPI_Barrier(both);
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
}

// The application ranks that the job starts with are the first of the world.
inline void pass_in_the_world(const Ring& ring) {
  Ring world(MPI_COMM_WORLD);
  world.left = ring.left;
  world.right = ring.right;
  world.pass(3);
}

inline void meet_without_waiting(const Ring& ring) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(ring.comm, &request);
  complete(request);
}

inline void meet_persistently(const Ring& ring) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Barrier_init(ring.comm, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  complete(request);
  MPI_Request_free(&request);
}

inline void open_window(const Ring& ring) {
  std::uint64_t word = 0;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(&word, sizeof word, 1, MPI_INFO_NULL, ring.comm, &window);
  MPI_Win_free(&window);
}

inline void open_file(const Ring& ring) {
  MPI_File file = MPI_FILE_NULL;
  MPI_File_open(ring.comm, "file", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_close(&file);
}

// What each rank sends does not fit into a log of 1 MiB.
inline void send_much(const Ring& ring) {
  const std::vector<std::uint64_t> mine(kMany, 1);
  std::vector<std::uint64_t> theirs(kMany);
  for (int i = 0; i < 2; ++i)
    MPI_Sendrecv(mine.data(), kMany, MPI_UINT64_T, ring.right, 5, theirs.data(), kMany, MPI_UINT64_T, ring.left, 5,
                 ring.comm, MPI_STATUS_IGNORE);
}

// What each of two ranks sends to rank 1 fits into its log, but what both ship does not.
inline void send_much_to_one(const Ring& ring) {
  std::vector<std::uint64_t> words(kMany, 1);
  if (ring.right == 1) MPI_Send(words.data(), kMany, MPI_UINT64_T, 1, 5, ring.comm);
  if (ring.left == 1) MPI_Send(words.data(), kMany, MPI_UINT64_T, 1, 5, ring.comm);
  for (int i = 0; i < 2 && ring.rank == 1; ++i)
    MPI_Recv(words.data(), kMany, MPI_UINT64_T, i == 0 ? ring.left : ring.right, 5, ring.comm, MPI_STATUS_IGNORE);
}

// All ranks then make communicators alike, although one is not replayed any more.
inline void call_in_a_thread(const Ring& ring) {
  if (ring.rank == 2)
    std::thread([&] {
      Ring alone = ring;
      alone.left = alone.right = ring.rank;
      alone.pass(3);
    }).join();
  pass_in_a_group(ring);
  MPI_Comm circle = MPI_COMM_NULL;
  MPI_Dist_graph_create_adjacent(ring.comm, 1, &ring.left, MPI_UNWEIGHTED, 1, &ring.right, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &circle);
  MPI_Comm_free(&circle);
}

inline void spawn(const Ring& ring) {
  if (ring.rank != 2) return;
  MPI_Comm child = MPI_COMM_NULL;
  std::string program = "/proc/self/exe";
  std::string argument = "child";
  std::array<char*, 2> arguments{argument.data(), nullptr};
  std::array<char, 4096> path{};
  if (readlink(program.c_str(), path.data(), path.size() - 1) < 0) std::abort();
  MPI_Comm_spawn(path.data(), arguments.data(), 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &child, MPI_ERRCODES_IGNORE);
  MPI_Comm_disconnect(&child);
}

inline int be_a_child(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm parent = MPI_COMM_NULL;
  MPI_Comm_get_parent(&parent);
  MPI_Comm_disconnect(&parent);
  MPI_Finalize();
  return 0;
}

// Played between two snapshot() calls.
inline const std::map<std::string, std::function<void(const Ring&)>> kCalls{
    {"nonblocking-collective", meet_without_waiting},
    {"persistent-collective", meet_persistently},
    {"neighbour-collective", gather_from_neighbours},
    {"group", pass_in_a_group},
    {"dist-graph", make_graph_of_neighbours},
    {"idup", begin_to_duplicate},
    {"self-bridge", join_self},
    {"world", pass_in_the_world},
    {"matched", match},
    {"cancel", cancel},
    {"free", free_while_pending},
    {"partitioned", prepare_partitioned},
    {"window", open_window},
    {"file", open_file},
    {"spawn", spawn},
    {"much", send_much},
    {"much-to-one", send_much_to_one},
    {"thread", call_in_a_thread},
};

}  // namespace not_replayed
