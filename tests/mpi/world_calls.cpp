// What an application can do with MPI_COMM_WORLD, in a job whose heads it does not see: each case is one life of a job.
// Exit code 0, if all is as it would be in a job without heads.
//
//   world_calls CASE CONFIG [RANKS [MPIEXEC]]
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <mpi.h>
#include <cairn/cairn.hpp>

extern "C" int count_ranks_in_library();  // world_library.c

namespace {

// Before main().
MPI_Comm const kWorldOfOld = MPI_COMM_WORLD;
const std::array<MPI_Comm, 2> kWorlds{MPI_COMM_WORLD, MPI_COMM_SELF};

int ranks = 4;  // that the job was started with
std::string config;
std::string mpiexec;  // starts a job from a rank
bool good = true;

void expect(bool holds, const char* what) {
  if (holds) return;
  good = false;
  std::fprintf(stderr, "not true: %s\n", what);
}

int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}
int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}
bool is_identical(MPI_Comm a, MPI_Comm b) {
  int how = MPI_UNEQUAL;
  MPI_Comm_compare(a, b, &how);
  return how == MPI_IDENT;
}

// What a callback has seen of MPI_COMM_WORLD.
int seen = 0;
int calls = 0;
void look_at_world() {
  ++calls;
  seen = size_of(MPI_COMM_WORLD);
}

void on_error(MPI_Comm* /*comm*/, int* /*code*/, ...) { look_at_world(); }

void calls_error_handlers() {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Send(nullptr, 0, MPI_INT, ranks, 0, MPI_COMM_WORLD);
  expect(calls == 1 && seen == ranks, "the handler is called for a rank that only MPI's own world has");
  // An error that belongs to no communicator.
  MPI_Datatype none = MPI_DATATYPE_NULL;
  MPI_Type_commit(&none);
  expect(calls == 2 && seen == ranks, "the handler is called for an error without a communicator");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
}

int copy(MPI_Comm /*comm*/, int /*key*/, void* /*extra*/, void* in, void* out, int* flag) {
  look_at_world();
  *static_cast<void**>(out) = in;
  *flag = 1;
  return MPI_SUCCESS;
}
int remove(MPI_Comm /*comm*/, int /*key*/, void* /*value*/, void* /*extra*/) {
  look_at_world();
  return MPI_SUCCESS;
}
int tell_of_end(MPI_Comm /*comm*/, int /*key*/, void* /*value*/, void* /*extra*/) {
  std::printf("an attribute ends among %d\n", size_of(MPI_COMM_WORLD));
  std::fflush(stdout);
  return MPI_SUCCESS;
}

void keeps_attributes() {
  int key = MPI_KEYVAL_INVALID;
  int value = 7;
  void* found = nullptr;
  int flag = 0;
  MPI_Comm_create_keyval(copy, remove, &key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_WORLD, key, &value);
  MPI_Comm_get_attr(MPI_COMM_WORLD, key, static_cast<void*>(&found), &flag);
  expect(flag != 0 && found == &value, "an attribute is found where it was set");
  MPI_Comm dup = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  expect(calls == 1 && seen == ranks, "the copy callback sees the application's world");
  MPI_Comm_free(&dup);
  expect(calls == 2 && seen == ranks, "the delete callback sees the application's world");
  MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
  expect(calls == 3, "the attribute is deleted");
  MPI_Comm_get_attr(MPI_COMM_WORLD, key, static_cast<void*>(&found), &flag);
  expect(flag == 0, "a deleted attribute is not found");
  for (const int of_mpi : {MPI_TAG_UB, MPI_WTIME_IS_GLOBAL}) {
    MPI_Comm_get_attr(MPI_COMM_WORLD, of_mpi, static_cast<void*>(&found), &flag);
    expect(flag != 0, "MPI's own attributes are found");
  }
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, tell_of_end, &key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_WORLD, key, &value);
}

void add(void* in, void* inout, int* length, MPI_Datatype* /*type*/) {
  look_at_world();
  for (int i = 0; i < *length; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

void reduces() {
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(add, 1, &op);
  int sum = 1;
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
  expect(sum == ranks && calls > 0 && seen == ranks, "an operation sees the application's world");
  MPI_Op_free(&op);
}

// It is a value, which a program may keep from before MPI_Init, and libraries use without the program.
void names_world_elsewhere() {
  expect(size_of(kWorldOfOld) == ranks && size_of(kWorlds[0]) == ranks, "a static variable is the application's world");
  expect(count_ranks_in_library() == ranks, "a library has the application's world");
}

// In each place that a communicator can have among the arguments.
void names_world_everywhere() {
  MPI_Comm half = MPI_COMM_NULL;
  const int side = rank_in(MPI_COMM_WORLD) < ranks / 2 ? 0 : 1;
  MPI_Comm_split(MPI_COMM_WORLD, side, 0, &half);
  MPI_Comm both = MPI_COMM_NULL;
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, side == 0 ? ranks / 2 : 0, 3, &both);
  int remote = 0;
  MPI_Comm_remote_size(both, &remote);
  expect(size_of(half) + remote == ranks, "two halves are the world");
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  int members = 0;
  MPI_Group_size(group, &members);
  expect(members == ranks, "the world's group has the application ranks");
  MPI_Comm again = MPI_COMM_NULL;
  MPI_Comm_create(MPI_COMM_WORLD, group, &again);
  expect(again != MPI_COMM_NULL && size_of(again) == ranks, "a communicator is made of that group");
  expect(is_identical(MPI_COMM_WORLD, MPI_COMM_WORLD), "the world is itself");
  expect(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) == MPI_COMM_WORLD, "the world comes back from Fortran");
  std::array<char, MPI_MAX_OBJECT_NAME> name{};
  int length = 0;
  MPI_Comm_get_name(MPI_COMM_WORLD, name.data(), &length);
  expect(name.data() == std::string("MPI_COMM_WORLD"), "the world has its name");
  int one = 1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(&one, 1, MPI_INT, (rank_in(MPI_COMM_WORLD) + 1) % ranks, 1, MPI_COMM_WORLD, &request);
  MPI_Status status;
  MPI_Probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
  MPI_Recv(&one, 1, MPI_INT, status.MPI_SOURCE, 1, MPI_COMM_WORLD, &status);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  PMPI_Barrier(MPI_COMM_WORLD);
  expect(status.MPI_SOURCE == (rank_in(MPI_COMM_WORLD) + ranks - 1) % ranks, "a ring is closed");
  MPI_Group_free(&group);
  for (MPI_Comm* comm : {&again, &both, &half}) MPI_Comm_free(comm);
}

// A session in which something is kept, on this communicator. Returns the number of the snapshot.
void use(MPI_Comm comm, const std::string& file, const std::function<void(cairn::Session&)>& look) {
  const auto session = cairn::Session::open(comm, file);
  expect(session != nullptr, "an application rank gets a session");
  int value = 1;
  session->protect("value", value);
  session->restore();
  session->snapshot();
  look(*session);
  session->finalize();
}

void is_the_sessions(const cairn::Session& session) {
  expect(is_identical(session.comm(), MPI_COMM_WORLD), "session.comm() is the world");
  expect(session.size() == static_cast<unsigned>(ranks), "all application ranks are in the session");
}

void opens_on_a_duplicate() {
  MPI_Comm dup = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  use(dup, config, is_the_sessions);
  MPI_Comm_free(&dup);
}

void opens_on_a_part() {
  MPI_Comm half = MPI_COMM_NULL;
  const int side = rank_in(MPI_COMM_WORLD) % 2;
  MPI_Comm_split(MPI_COMM_WORLD, side, 0, &half);
  use(half, config + std::to_string(side), [&](const cairn::Session& session) {
    expect(size_of(session.comm()) == ranks / 2, "all ranks of a part compute");
    expect(!is_identical(session.comm(), MPI_COMM_WORLD), "a part's communicator is its own");
  });
  MPI_Comm_free(&half);
}

void opens_twice() {
  use(MPI_COMM_WORLD, config, is_the_sessions);
  MPI_Barrier(MPI_COMM_WORLD);
  use(MPI_COMM_WORLD, config, is_the_sessions);
  names_world_everywhere();
}

// Heads serve one session at a time: the second does without. It cannot have the files of the first.
void opens_two_at_once() {
  use(MPI_COMM_WORLD, config, [](const cairn::Session& first) {
    bool refused = false;
    try {
      (void)cairn::Session::open(MPI_COMM_WORLD, config);
    } catch (const cairn::Exception& error) {
      refused = std::string(error.what()).find("[job] name") != std::string::npos;
    }
    expect(refused, "a second session of the same job is refused");
    expect(size_of(first.comm()) == ranks, "the first goes on");
  });
}

// Where heads are in MPI_COMM_WORLD: they come to this call.
void opens_as_is() {
  const auto session = cairn::Session::open(MPI_COMM_WORLD, config);
  if (!session) return;
  expect(size_of(session->comm()) == ranks - 2 && size_of(MPI_COMM_WORLD) == ranks, "heads are in the world");
  session->restore();
  session->snapshot();
  session->finalize();
}

// The second try has another file.
void opens_after_an_error() {
  bool refused = false;
  try {
    (void)cairn::Session::open(MPI_COMM_WORLD, config + ".nowhere");
  } catch (const cairn::Exception&) {
    refused = true;
  }
  expect(refused, "a file that does not exist is refused");
  use(MPI_COMM_WORLD, config, is_the_sessions);
}

void leaves_its_session_open() {
  static auto session = cairn::Session::open(MPI_COMM_WORLD, config);
  int value = 1;
  session->protect("value", value);
  session->restore();
  session->snapshot();
  MPI_Barrier(MPI_COMM_WORLD);
}

// After its session.
void dies() {
  use(MPI_COMM_WORLD, config, is_the_sessions);
  if (rank_in(MPI_COMM_WORLD) == 1) std::raise(SIGKILL);
  MPI_Barrier(MPI_COMM_WORLD);
}

void aborts() {
  use(MPI_COMM_WORLD, config, [](const cairn::Session& session) {
    if (session.rank() == 1) MPI_Abort(MPI_COMM_WORLD, 9);
    std::this_thread::sleep_for(std::chrono::minutes(2));
  });
}

// Sleeps, so that whoever looks sees what heads do meanwhile.
void pauses() {
  std::printf("pauses\n");
  std::fflush(stdout);
  std::this_thread::sleep_for(std::chrono::seconds(3));
  use(MPI_COMM_WORLD, config, is_the_sessions);
}

void starts_children() {
  MPI_Comm parent = MPI_COMM_NULL;
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) {
    expect(size_of(MPI_COMM_WORLD) == 1, "a child's world has what was spawned");
    MPI_Comm_disconnect(&parent);
    return;
  }
  MPI_Comm child = MPI_COMM_NULL;
  std::string program = "/proc/self/exe";
  std::array<char, 4096> path{};
  expect(realpath(program.c_str(), path.data()) != nullptr, "this program has a path");
  std::string what = "children";
  std::array<char*, 3> arguments{what.data(), config.data(), nullptr};
  MPI_Comm_spawn(path.data(), arguments.data(), 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &child, MPI_ERRCODES_IGNORE);
  MPI_Comm_disconnect(&child);
}

// A session of processes that ckpt-run has not started: all compute, and none is a head.
void computes_for_itself() {
  const auto session = cairn::Session::open(MPI_COMM_WORLD, config + ".child");
  expect(session->size() == 2 && size_of(MPI_COMM_WORLD) == 2, "both processes compute");
  int step = 1;
  session->protect("step", step);
  session->restore();
  session->snapshot();
  session->finalize();
}

void starts_children_with_a_session() {
  MPI_Comm between = MPI_COMM_NULL;
  MPI_Comm_get_parent(&between);
  if (between != MPI_COMM_NULL) {
    computes_for_itself();
  } else {
    std::array<char, 4096> path{};
    expect(realpath("/proc/self/exe", path.data()) != nullptr, "this program has a path");
    std::string what = "child_session";
    std::array<char*, 3> arguments{what.data(), config.data(), nullptr};
    MPI_Comm_spawn(path.data(), arguments.data(), 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
  }
  // Parents wait for their children.
  MPI_Barrier(between);
  MPI_Comm_disconnect(&between);
}

// The command that starts `nested_job` without the variables that make a process a rank of this job.
std::string command_of_nested_job() {
  std::array<char, 4096> path{};
  expect(realpath("/proc/self/exe", path.data()) != nullptr, "this program has a path");
  std::string command = "env";
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string name = std::string(*entry).substr(0, std::string(*entry).find('='));
    const auto begins = [&](const char* with) { return name.starts_with(with); };
    const bool is_asked = begins("OMPI_ALLOW") || begins("OMPI_MCA_rmaps") || begins("OMPI_MCA_hwloc");
    if (!is_asked && (begins("OMPI_") || begins("PMIX_") || begins("PMI_") || begins("HYD")))
      command.append(" -u ").append(name);
  }
  return command + " " + mpiexec + " -n 2 " + path.data() + " nested_job " + config + " 2";
}

void starts_another_job() {
  if (rank_in(MPI_COMM_WORLD) == 0)
    expect(std::system(command_of_nested_job().c_str()) == 0, "the job that a rank starts comes to its end");
  MPI_Barrier(MPI_COMM_WORLD);
}

const std::map<std::string, void (*)()>& cases() {
  static const std::map<std::string, void (*)()> all = {
      {"nothing", [] {}},
      {"handlers", calls_error_handlers},
      {"attributes", keeps_attributes},
      {"operations", reduces},
      {"arguments", names_world_everywhere},
      {"elsewhere", names_world_elsewhere},
      {"session", [] { use(MPI_COMM_WORLD, config, is_the_sessions); }},
      {"duplicate", opens_on_a_duplicate},
      {"part", opens_on_a_part},
      {"twice", opens_twice},
      {"two_at_once", opens_two_at_once},
      {"as_is", opens_as_is},
      {"error", opens_after_an_error},
      {"unfinished", leaves_its_session_open},
      {"death", dies},
      {"abort", aborts},
      {"pause", pauses},
      {"children", starts_children},
      {"child_session", starts_children_with_a_session},
      {"another_job", starts_another_job},
      {"nested_job", computes_for_itself},
  };
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (argc > 2) config = argv[2];
  if (argc > 3) ranks = std::atoi(argv[3]);
  if (argc > 4) mpiexec = argv[4];
  int provided = MPI_THREAD_SINGLE;
  if (what == "attributes") {
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  } else {
    MPI_Init(&argc, &argv);
  }
  MPI_Comm parent = MPI_COMM_NULL;
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL) expect(size_of(MPI_COMM_WORLD) == ranks, "the world has the application ranks");
  try {
    cases().at(what)();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "world_calls: %s\n", error.what());
    good = false;
  }
  // Only a rank that gets so far has no session that the others wait for.
  MPI_Finalize();
  if (good) std::printf("all as it should be\n");
  return good ? 0 : 1;
}
