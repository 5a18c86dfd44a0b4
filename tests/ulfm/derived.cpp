// A small application for the tests beside this file, whose ranks wait on communicators that they have made from the
// session's while one of them dies:
//
//   derived all --config FILE --output FILE
//
// It lives once for each way to make a communicator, and once for each way to wait: rank 0 waits there for rank 1,
// which waits on the session's communicator for rank 2, which dies. At the end rank 0 writes how many lives there were.
// The number of the life is in the file derived.life of the directory that the job runs in.
#include <array>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <mpi.h>

#include <cairn/cairn.hpp>

namespace {

constexpr int kTag = 1;
constexpr int kRanks = 3;

// A communicator in which rank 0 waits, and what rank 1 is there to it.
struct Place {
  MPI_Comm comm = MPI_COMM_NULL;
  int peer = 1;
};
struct Way {
  std::string name;
  std::function<Place(MPI_Comm)> make;
};

int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

Place made(const std::function<void(MPI_Comm*)>& make) {
  Place place;
  make(&place.comm);
  return place;
}

MPI_Group group_of(MPI_Comm comm) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_group(comm, &group);
  return group;
}

Place row_of_grid(MPI_Comm comm) {
  const std::array<int, 2> lengths{1, kRanks};
  const std::array<int, 2> kept{0, 1};
  MPI_Comm grid = MPI_COMM_NULL;
  MPI_Cart_create(comm, 2, lengths.data(), kept.data(), 0, &grid);
  return made([&](MPI_Comm* row) { MPI_Cart_sub(grid, kept.data(), row); });
}

// Rank 0, and the others.
Place intercommunicator(MPI_Comm comm) {
  const int side = rank_in(comm) == 0 ? 0 : 1;
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(comm, side, 0, &half);
  Place place;
  MPI_Intercomm_create(half, 0, comm, side == 0 ? 1 : 0, kTag, &place.comm);
  place.peer = 0;
  return place;
}

Place merged(MPI_Comm comm) {
  const Place both = intercommunicator(comm);
  return made([&](MPI_Comm* all) { MPI_Intercomm_merge(both.comm, rank_in(comm) == 0 ? 0 : 1, all); });
}

Place graph(MPI_Comm comm) {
  const std::array<int, kRanks> index{1, 2, 3};
  const std::array<int, kRanks> edges{1, 2, 0};
  return made([&](MPI_Comm* ring) { MPI_Graph_create(comm, kRanks, index.data(), edges.data(), 0, ring); });
}

Place dist_graph(MPI_Comm comm) {
  const int me = rank_in(comm);
  const int degree = 1;
  const int next = (me + 1) % kRanks;
  return made([&](MPI_Comm* ring) {
    MPI_Dist_graph_create(comm, 1, &me, &degree, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, ring);
  });
}

Place dist_graph_adjacent(MPI_Comm comm) {
  const int next = (rank_in(comm) + 1) % kRanks;
  const int last = (rank_in(comm) + kRanks - 1) % kRanks;
  return made([&](MPI_Comm* ring) {
    MPI_Dist_graph_create_adjacent(comm, 1, &last, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, ring);
  });
}

Place begun(MPI_Comm comm) {
  Place place;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm_idup(comm, &place.comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return place;
}

Place child_of_child(MPI_Comm comm) {
  MPI_Comm child = MPI_COMM_NULL;
  MPI_Comm_split(comm, 0, 0, &child);
  return made([&](MPI_Comm* grandchild) { MPI_Comm_dup(child, grandchild); });
}

const std::vector<Way>& ways() {
  static const std::vector<Way> all = {
      {"dup", [](MPI_Comm comm) { return made([&](MPI_Comm* one) { MPI_Comm_dup(comm, one); }); }},
      {"dup_with_info",
       [](MPI_Comm comm) { return made([&](MPI_Comm* one) { MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, one); }); }},
      {"idup", begun},
      {"split", [](MPI_Comm comm) { return made([&](MPI_Comm* one) { MPI_Comm_split(comm, 0, 0, one); }); }},
      {"split_type",
       [](MPI_Comm comm) {
         return made([&](MPI_Comm* one) { MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, one); });
       }},
      {"create",
       [](MPI_Comm comm) { return made([&](MPI_Comm* one) { MPI_Comm_create(comm, group_of(comm), one); }); }},
      {"create_group",
       [](MPI_Comm comm) {
         return made([&](MPI_Comm* one) { MPI_Comm_create_group(comm, group_of(comm), kTag, one); });
       }},
      {"row of a grid", row_of_grid},
      {"graph", graph},
      {"dist_graph", dist_graph},
      {"dist_graph_adjacent", dist_graph_adjacent},
      {"intercommunicator", intercommunicator},
      {"merged intercommunicator", merged},
      {"child of a child", child_of_child},
  };
  return all;
}

struct Wait {
  std::string name;
  std::function<void(const Place&)> wait;
};

MPI_Request receive(const Place& from) {
  static int news = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&news, 1, MPI_INT, from.peer, kTag, from.comm, &request);
  return request;
}

const std::vector<Wait>& waits() {
  static int news = 0;
  static int flag = 0;
  static int index = 0;
  static const std::vector<Wait> all = {
      {"recv", [](const Place& at) { MPI_Recv(&news, 1, MPI_INT, at.peer, kTag, at.comm, MPI_STATUS_IGNORE); }},
      {"ssend", [](const Place& at) { MPI_Ssend(&news, 1, MPI_INT, at.peer, kTag, at.comm); }},
      {"sendrecv",
       [](const Place& at) {
         MPI_Sendrecv_replace(&news, 1, MPI_INT, at.peer, kTag, at.peer, kTag, at.comm, MPI_STATUS_IGNORE);
       }},
      {"probe", [](const Place& at) { MPI_Probe(at.peer, kTag, at.comm, MPI_STATUS_IGNORE); }},
      {"iprobe",
       [](const Place& at) {
         for (flag = 0; flag == 0;) MPI_Iprobe(at.peer, kTag, at.comm, &flag, MPI_STATUS_IGNORE);
       }},
      {"wait",
       [](const Place& at) {
         MPI_Request request = receive(at);
         MPI_Wait(&request, MPI_STATUS_IGNORE);
       }},
      {"waitany",
       [](const Place& at) {
         std::array<MPI_Request, 2> requests{receive(at), receive(at)};
         MPI_Waitany(2, requests.data(), &index, MPI_STATUS_IGNORE);
       }},
      {"waitall",
       [](const Place& at) {
         std::array<MPI_Request, 2> requests{receive(at), receive(at)};
         MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
       }},
      {"waitsome",
       [](const Place& at) {
         std::array<MPI_Request, 2> requests{receive(at), receive(at)};
         std::array<int, 2> done{};
         MPI_Waitsome(2, requests.data(), &index, done.data(), MPI_STATUSES_IGNORE);
       }},
      {"test",
       [](const Place& at) {
         MPI_Request request = receive(at);
         for (flag = 0; flag == 0;) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
       }},
      {"testall",
       [](const Place& at) {
         std::array<MPI_Request, 2> requests{receive(at), receive(at)};
         for (flag = 0; flag == 0;) MPI_Testall(2, requests.data(), &flag, MPI_STATUSES_IGNORE);
       }},
      {"persistent",
       [](const Place& at) {
         MPI_Request request = MPI_REQUEST_NULL;
         MPI_Recv_init(&news, 1, MPI_INT, at.peer, kTag, at.comm, &request);
         MPI_Start(&request);
         MPI_Wait(&request, MPI_STATUS_IGNORE);
       }},
      {"barrier", [](const Place& at) { MPI_Barrier(at.comm); }},
      {"iallreduce",
       [](const Place& at) {
         MPI_Request request = MPI_REQUEST_NULL;
         MPI_Iallreduce(MPI_IN_PLACE, &news, 1, MPI_INT, MPI_SUM, at.comm, &request);
         MPI_Wait(&request, MPI_STATUS_IGNORE);
       }},
  };
  return all;
}

const char* const kLife = "derived.life";

std::size_t life_of_rank_0(const cairn::Session& session) {
  std::size_t life = 0;
  if (session.rank() == 0) std::ifstream(kLife) >> life;
  MPI_Bcast(&life, sizeof life, MPI_BYTE, 0, session.comm());
  return life;
}

// Whoever waits should do so by now.
void die_in(std::size_t life) {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::ofstream(kLife) << life + 1 << std::flush;
  std::raise(SIGKILL);
}

void live(cairn::Session& session, const std::string& output) {
  std::size_t lives = 0;
  session.protect("lives", lives);
  session.restore();
  const std::size_t life = life_of_rank_0(session);
  ++lives;
  if (life == ways().size() + waits().size()) {
    if (session.rank() == 0) std::ofstream(output) << lives << "\n";
    return;
  }
  const bool is_way = life < ways().size();
  const Way& way = ways()[is_way ? life : 0];
  const Wait& wait = waits()[is_way ? 0 : life - ways().size()];
  const Place place = way.make(session.comm());
  session.snapshot(cairn::LevelId::local);
  session.wait(cairn::LevelId::local);
  if (session.rank() == 2) die_in(life);
  if (session.rank() == 0) {
    std::printf("derived: waits by %s on one made by %s\n", wait.name.c_str(), way.name.c_str());
    std::fflush(stdout);
    wait.wait(place);
  }
  int news = 0;
  MPI_Recv(&news, 1, MPI_INT, 2, kTag, session.comm(), MPI_STATUS_IGNORE);
  std::printf("derived: rank %d was not told of the death\n", static_cast<int>(session.rank()));
}

}  // namespace

int main(int argc, char** argv) {
  std::string config;
  std::string output;
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--config") config = argv[i + 1];
    if (name == "--output") output = argv[i + 1];
  }
  MPI_Init(&argc, &argv);
  const int code = cairn::run(MPI_COMM_WORLD, config, [&](cairn::Session& session) { live(session, output); });
  MPI_Finalize();
  return code;
}
