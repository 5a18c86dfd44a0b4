// Programs in which one rank works alone for long while the others wait, and nothing is wrong: as people write them.
// The second argument names one. It goes on as soon as the file `go` is in the directory of the configuration.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <mpi.h>

#include <cairn/cairn.hpp>

namespace {

std::filesystem::path directory;

bool more_to_do() { return !std::filesystem::exists(directory / "go"); }

struct World {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int size = 0;
};

double work() {
  double sum = 0;
  while (more_to_do())
    for (int i = 1; i < 100000; ++i) sum += std::sqrt(i);
  return sum;
}

// One part of the domain costs far more than the others.
void uneven_domain(const World& world) {
  double mine = 1;
  if (world.rank == world.size - 1) mine = work();
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, world.comm);
}

void rank_0_writes_a_file(const World& world) {
  while (world.rank == 0 && more_to_do()) {
    std::ofstream out(directory / "result");
    for (int i = 0; i < 100000; ++i) out << i << '\n';
  }
  MPI_Barrier(world.comm);
}

void rank_0_reads_a_mesh(const World& world) {
  std::ofstream(directory / ("mesh" + std::to_string(world.rank))) << std::string(1 << 20, '7');
  std::vector<char> mesh(1 << 20);
  while (world.rank == 0 && more_to_do()) std::ifstream(directory / "mesh0").read(mesh.data(), 1 << 20);
  MPI_Bcast(mesh.data(), static_cast<int>(mesh.size()), MPI_CHAR, 0, world.comm);
}

// Rank 0 hands out work. The last item takes long, and whoever has none waits.
void last_item(const World& world) {
  constexpr int kEnd = -1;
  int item = 0;
  if (world.rank == 0) {
    const int items = 3 * world.size;
    for (int sent = 0, working = world.size - 1; working > 0;) {
      MPI_Status status;
      MPI_Recv(&item, 1, MPI_INT, MPI_ANY_SOURCE, 1, world.comm, &status);
      if (sent == items) --working;
      int next = sent == items ? kEnd : sent++;
      MPI_Send(&next, 1, MPI_INT, status.MPI_SOURCE, 2, world.comm);
    }
    return;
  }
  const int last = 3 * world.size - 1;
  for (item = 0; item != kEnd;) {
    if (item == last) work();
    MPI_Send(&item, 1, MPI_INT, 0, 1, world.comm);
    MPI_Recv(&item, 1, MPI_INT, 0, 2, world.comm, MPI_STATUS_IGNORE);
  }
}

// The last rank is a model of its own, to which the others are coupled.
void component_of_one_rank(const World& world) {
  const bool alone = world.rank == world.size - 1;
  MPI_Comm component = MPI_COMM_NULL;
  MPI_Comm_split(world.comm, alone ? 1 : 0, world.rank, &component);
  double flux = 0;
  if (alone) {
    flux = work();
    for (int rank = 0; rank + 1 < world.size; ++rank) MPI_Send(&flux, 1, MPI_DOUBLE, rank, 3, world.comm);
  } else {
    double mine = 1;
    MPI_Allreduce(&mine, &flux, 1, MPI_DOUBLE, MPI_SUM, component);
    MPI_Recv(&flux, 1, MPI_DOUBLE, world.size - 1, 3, world.comm, MPI_STATUS_IGNORE);
  }
  MPI_Comm_free(&component);
}

// Rank 0 waits for what somebody types, and the others for what rank 0 tells them.
void slow_driver(const World& world) {
  int command = 0;
  while (world.rank == 0 && more_to_do()) ::usleep(10000);
  MPI_Bcast(&command, 1, MPI_INT, 0, world.comm);
}

// Rank 0 asks again and again whether a worker has a result, and the last one takes long.
void polling_master(const World& world) {
  double result = 0;
  if (world.rank != 0) {
    if (world.rank + 1 == world.size) result = work();
    MPI_Send(&result, 1, MPI_DOUBLE, 0, 4, world.comm);
    MPI_Recv(&result, 1, MPI_DOUBLE, 0, 5, world.comm, MPI_STATUS_IGNORE);
    return;
  }
  for (int results = 0; results + 1 < world.size;) {
    int found = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, 4, world.comm, &found, MPI_STATUS_IGNORE);
    if (found == 0) continue;
    MPI_Recv(&result, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 4, world.comm, MPI_STATUS_IGNORE);
    ++results;
  }
  for (int worker = 1; worker < world.size; ++worker) MPI_Send(&result, 1, MPI_DOUBLE, worker, 5, world.comm);
}

// Rank 0 has another program look at its results.
void other_program(const World& world) {
  const std::string waits = "while [ ! -e '" + (directory / "go").string() + "' ]; do sleep 0.1; done";
  if (world.rank == 0 && std::system(waits.c_str()) != 0) MPI_Abort(world.comm, 1);
  MPI_Barrier(world.comm);
}

// Each rank has its part, and none waits for another before the end.
void independent_parts(const World& world) {
  work();
  MPI_Barrier(world.comm);
}

// A step has a fixed length in time, and most of it is a pause.
void real_time(const World& world) {
  for (int goes_on = 1; goes_on != 0;) {
    ::usleep(200000);
    goes_on = world.rank == 0 && more_to_do() ? 1 : 0;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, world.comm);
  }
}

// Two ranks exchange messages, and the others have nothing to do until these are done.
void two_of_many(const World& world) {
  constexpr int kMore = 6;
  for (int goes_on = 1; world.rank < 2 && goes_on != 0;) {
    if (world.rank == 0) goes_on = more_to_do() ? 1 : 0;
    if (world.rank == 0) MPI_Send(&goes_on, 1, MPI_INT, 1, kMore, world.comm);
    if (world.rank == 1) MPI_Recv(&goes_on, 1, MPI_INT, 0, kMore, world.comm, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(world.comm);
}

const std::map<std::string, void (*)(const World&)> kPrograms{{"uneven_domain", uneven_domain},
                                                              {"rank_0_writes_a_file", rank_0_writes_a_file},
                                                              {"rank_0_reads_a_mesh", rank_0_reads_a_mesh},
                                                              {"last_item", last_item},
                                                              {"component_of_one_rank", component_of_one_rank},
                                                              {"slow_driver", slow_driver},
                                                              {"polling_master", polling_master},
                                                              {"other_program", other_program},
                                                              {"independent_parts", independent_parts},
                                                              {"real_time", real_time},
                                                              {"two_of_many", two_of_many}};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 3 || !kPrograms.contains(argv[2])) return 2;
  directory = std::filesystem::path(argv[1]).parent_path();
  const int code = cairn::run(MPI_COMM_WORLD, argv[1], [&](cairn::Session& session) {
    session.restore();
    World world{session.comm(), static_cast<int>(session.rank()), static_cast<int>(session.size())};
    kPrograms.at(argv[2])(world);
  });
  MPI_Finalize();
  return code;
}
