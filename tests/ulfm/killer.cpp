// Kills its own process right before a chosen call of the application, of MPI or of Cairn: a library for the tests
// beside this file, to be loaded before all others (LD_PRELOAD).
//
//   CAIRN_CALLS    a directory: each process writes the names of its calls there, into calls.RANK.LIFE, one a line
//   CAIRN_STRIKES  "kill:RANK.LIFE@CALL,hold:RANK.LIFE@CALL,..."; LIFE is 0 for the first process of an application
//   rank, 1
//                  for its first replacement, and so on; CALL counts its calls from 1
//
// Calls of a loop that only looks whether something has come count as one, however often it looks, so that each run has
// the same number of calls. A process that is held makes the file held.RANK.LIFE and waits for go.RANK.LIFE. It has a
// rank from its first call with a session on. Calls that only ask for something of this process are passed on and not
// counted, and so are those that Cairn makes itself. No library is needed: in programs without MPI nothing of this is
// called.
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <cairn/cairn.h>
#include <cairn/cairn.hpp>

namespace {

// The next definition of this name: libcairn-tap's, MPI's or libcairn's.
template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

struct Strike {
  bool kills = true;  // or holds
  std::string process;
  std::uint64_t call = 0;
};

std::vector<Strike> strikes_from_environment() {
  std::vector<Strike> strikes;
  const char* const text = std::getenv("CAIRN_STRIKES");
  std::istringstream words(text == nullptr ? "" : text);
  for (std::string word; std::getline(words, word, ',');) {
    const auto colon = word.find(':');
    const auto at = word.find('@');
    if (colon == std::string::npos || at == std::string::npos || at < colon) std::abort();
    strikes.push_back(
        {word.substr(0, colon) == "kill", word.substr(colon + 1, at - colon - 1), std::stoull(word.substr(at + 1))});
  }
  return strikes;
}

// This process as an application rank, from its first call with a session on.
class Process {
 public:
  explicit Process(const char* directory) : directory_(directory) {}

  [[nodiscard]] bool has_rank() const { return calls_ >= 0; }

  // Nobody else gets the same life: files are made by one only.
  void becomes(std::uint32_t rank) {
    for (int life = 0; !has_rank(); ++life) {
      name_ = std::to_string(rank) + "." + std::to_string(life);
      calls_ = open(path("calls").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
      if (!has_rank() && errno != EEXIST) std::abort();
    }
  }

  void begins(const std::string& call) {
    if (looks(call) && call == last_) return;
    last_ = call;
    const std::string line = call + "\n";
    if (write(calls_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
    ++count_;
    for (const Strike& strike : strikes_) {
      if (strike.process != name_ || strike.call != count_) continue;
      if (strike.kills) std::raise(SIGKILL);
      hold();
    }
  }

 private:
  static bool looks(const std::string& call) {
    return call.starts_with("MPI_Test") || call == "MPI_Iprobe" || call == "MPI_Improbe" ||
           call == "MPI_Request_get_status" || call == "MPI_Waitsome";
  }
  [[nodiscard]] std::string path(const char* kind) const { return directory_ + "/" + kind + "." + name_; }

  void hold() const {
    close(open(path("held").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    while (access(path("go").c_str(), F_OK) != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  std::string directory_;
  std::vector<Strike> strikes_ = strikes_from_environment();
  std::string name_;
  int calls_ = -1;
  std::string last_;
  std::uint64_t count_ = 0;
};

// Null if nothing is to be counted.
Process* this_process() {
  const char* const directory = std::getenv("CAIRN_CALLS");
  static std::optional<Process> process =
      directory == nullptr ? std::nullopt : std::optional<Process>(std::in_place, directory);
  return process ? &*process : nullptr;
}

// Whether the program itself called from there, and not one of its libraries.
bool is_of_program(const void* address) {
  struct Search {
    std::uintptr_t address;
    bool found = false;
  } search{reinterpret_cast<std::uintptr_t>(address)};
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        auto& where = *static_cast<Search*>(data);
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const auto& part = object->dlpi_phdr[i];
          const auto begin = object->dlpi_addr + part.p_vaddr;
          if (part.p_type == PT_LOAD) where.found |= where.address - begin < part.p_memsz;
        }
        return 1;  // the program is the first
      },
      &search);
  return search.found;
}

thread_local int depth = 0;

// A call of the application, or one inside another.
class Call {
 public:
  Call() : is_outermost_(depth++ == 0) {}
  ~Call() { --depth; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  void begins_in_mpi(const char* name, const void* caller) const {
    if (Process* const process = heard()) {
      if (process->has_rank() && is_of_program(caller)) process->begins(name);
    }
  }
  void meets(const cairn::SessionBase* session) const {
    if (Process* const process = heard()) {
      if (!process->has_rank()) process->becomes(session->rank());
    }
  }
  void meets(const cairn_session* session) const {
    Process* const process = heard();
    if (process == nullptr || process->has_rank()) return;
    MPI_Comm comm{};  // MPI_COMM_NULL would be an address in a library
    int rank = 0;
    if (next<int (*)(const cairn_session*, MPI_Comm*)>("cairn_comm")(session, &comm) != CAIRN_OK) return;
    next<int (*)(MPI_Comm, int*)>("MPI_Comm_rank")(comm, &rank);
    process->becomes(static_cast<std::uint32_t>(rank));
  }
  template <class Session>
  void begins_in_cairn(const char* name, const Session* session) const {
    meets(session);
    if (Process* const process = heard()) {
      if (process->has_rank()) process->begins(name);
    }
  }

 private:
  [[nodiscard]] Process* heard() const { return is_outermost_ ? this_process() : nullptr; }
  bool is_outermost_;
};

}  // namespace

// NOLINTBEGIN(bugprone-macro-parentheses): parameters and arguments are lists
#define MPI_CALL(name, parameters, ...)                                  \
  extern "C" int MPI_##name parameters {                                 \
    static const auto passed_on = next<int(*) parameters>("MPI_" #name); \
    const Call call;                                                     \
    call.begins_in_mpi("MPI_" #name, __builtin_return_address(0));       \
    return passed_on(__VA_ARGS__);                                       \
  }
// Fortran's module mpi_f08: every argument is an address, and the last is that of the code, or null.
#define MPI_F08_CALL(name, symbol, parameters, ...)                  \
  extern "C" void symbol parameters {                                \
    static const auto passed_on = next<void(*) parameters>(#symbol); \
    const Call call;                                                 \
    call.begins_in_mpi("MPI_" #name, __builtin_return_address(0));   \
    passed_on(__VA_ARGS__);                                          \
  }
#define C_CALL(name, parameters, session, ...)                    \
  extern "C" int name parameters {                                \
    static const auto passed_on = next<int(*) parameters>(#name); \
    const Call call;                                              \
    call.begins_in_cairn(#name, session);                         \
    return passed_on(__VA_ARGS__);                                \
  }
// NOLINTEND(bugprone-macro-parentheses)

using Comm = MPI_Comm;
using Type = MPI_Datatype;
using Request = MPI_Request;
using Status = MPI_Status;

MPI_CALL(Send, (const void* b, int n, Type t, int p, int g, Comm c), b, n, t, p, g, c)
MPI_CALL(Ssend, (const void* b, int n, Type t, int p, int g, Comm c), b, n, t, p, g, c)
MPI_CALL(Bsend, (const void* b, int n, Type t, int p, int g, Comm c), b, n, t, p, g, c)
MPI_CALL(Rsend, (const void* b, int n, Type t, int p, int g, Comm c), b, n, t, p, g, c)
MPI_CALL(Recv, (void* b, int n, Type t, int p, int g, Comm c, Status* s), b, n, t, p, g, c, s)
MPI_CALL(Isend, (const void* b, int n, Type t, int p, int g, Comm c, Request* r), b, n, t, p, g, c, r)
MPI_CALL(Ibsend, (const void* b, int n, Type t, int p, int g, Comm c, Request* r), b, n, t, p, g, c, r)
MPI_CALL(Irsend, (const void* b, int n, Type t, int p, int g, Comm c, Request* r), b, n, t, p, g, c, r)
MPI_CALL(Issend, (const void* b, int n, Type t, int p, int g, Comm c, Request* r), b, n, t, p, g, c, r)
MPI_CALL(Irecv, (void* b, int n, Type t, int p, int g, Comm c, Request* r), b, n, t, p, g, c, r)
MPI_CALL(Sendrecv,
         (const void* b, int n, Type t, int p, int g, void* b2, int n2, Type t2, int p2, int g2, Comm c, Status* s), b,
         n, t, p, g, b2, n2, t2, p2, g2, c, s)
MPI_CALL(Sendrecv_replace, (void* b, int n, Type t, int p, int g, int p2, int g2, Comm c, Status* s), b, n, t, p, g, p2,
         g2, c, s)
MPI_CALL(Probe, (int p, int g, Comm c, Status* s), p, g, c, s)
MPI_CALL(Iprobe, (int p, int g, Comm c, int* f, Status* s), p, g, c, f, s)
MPI_CALL(Mprobe, (int p, int g, Comm c, MPI_Message* m, Status* s), p, g, c, m, s)
MPI_CALL(Improbe, (int p, int g, Comm c, int* f, MPI_Message* m, Status* s), p, g, c, f, m, s)
MPI_CALL(Mrecv, (void* b, int n, Type t, MPI_Message* m, Status* s), b, n, t, m, s)
MPI_CALL(Imrecv, (void* b, int n, Type t, MPI_Message* m, Request* r), b, n, t, m, r)
MPI_CALL(Start, (Request * r), r)
MPI_CALL(Startall, (int n, Request* r), n, r)
MPI_CALL(Wait, (Request * r, Status* s), r, s)
MPI_CALL(Waitany, (int n, Request* r, int* i, Status* s), n, r, i, s)
MPI_CALL(Waitsome, (int n, Request* r, int* m, int* i, Status* s), n, r, m, i, s)
MPI_CALL(Waitall, (int n, Request* r, Status* s), n, r, s)
MPI_CALL(Test, (Request * r, int* f, Status* s), r, f, s)
MPI_CALL(Testany, (int n, Request* r, int* i, int* f, Status* s), n, r, i, f, s)
MPI_CALL(Testsome, (int n, Request* r, int* m, int* i, Status* s), n, r, m, i, s)
MPI_CALL(Testall, (int n, Request* r, int* f, Status* s), n, r, f, s)
MPI_CALL(Request_get_status, (Request r, int* f, Status* s), r, f, s)
MPI_CALL(Request_free, (Request * r), r)
MPI_CALL(Barrier, (Comm c), c)
MPI_CALL(Bcast, (void* b, int n, Type t, int p, Comm c), b, n, t, p, c)
MPI_CALL(Gather, (const void* b, int n, Type t, void* b2, int n2, Type t2, int p, Comm c), b, n, t, b2, n2, t2, p, c)
MPI_CALL(Gatherv, (const void* b, int n, Type t, void* b2, const int* m, const int* w, Type t2, int p, Comm c), b, n, t,
         b2, m, w, t2, p, c)
MPI_CALL(Scatter, (const void* b, int n, Type t, void* b2, int n2, Type t2, int p, Comm c), b, n, t, b2, n2, t2, p, c)
MPI_CALL(Scatterv, (const void* b, const int* m, const int* w, Type t, void* b2, int n2, Type t2, int p, Comm c), b, m,
         w, t, b2, n2, t2, p, c)
MPI_CALL(Allgather, (const void* b, int n, Type t, void* b2, int n2, Type t2, Comm c), b, n, t, b2, n2, t2, c)
MPI_CALL(Allgatherv, (const void* b, int n, Type t, void* b2, const int* m, const int* w, Type t2, Comm c), b, n, t, b2,
         m, w, t2, c)
MPI_CALL(Alltoall, (const void* b, int n, Type t, void* b2, int n2, Type t2, Comm c), b, n, t, b2, n2, t2, c)
MPI_CALL(Alltoallv,
         (const void* b, const int* m, const int* w, Type t, void* b2, const int* m2, const int* w2, Type t2, Comm c),
         b, m, w, t, b2, m2, w2, t2, c)
MPI_CALL(Alltoallw,
         (const void* b, const int* m, const int* w, const Type* t, void* b2, const int* m2, const int* w2,
          const Type* t2, Comm c),
         b, m, w, t, b2, m2, w2, t2, c)
MPI_CALL(Reduce, (const void* b, void* b2, int n, Type t, MPI_Op o, int p, Comm c), b, b2, n, t, o, p, c)
MPI_CALL(Allreduce, (const void* b, void* b2, int n, Type t, MPI_Op o, Comm c), b, b2, n, t, o, c)
MPI_CALL(Reduce_scatter_block, (const void* b, void* b2, int n, Type t, MPI_Op o, Comm c), b, b2, n, t, o, c)
MPI_CALL(Reduce_scatter, (const void* b, void* b2, const int* n, Type t, MPI_Op o, Comm c), b, b2, n, t, o, c)
MPI_CALL(Scan, (const void* b, void* b2, int n, Type t, MPI_Op o, Comm c), b, b2, n, t, o, c)
MPI_CALL(Exscan, (const void* b, void* b2, int n, Type t, MPI_Op o, Comm c), b, b2, n, t, o, c)
MPI_CALL(Neighbor_allgather, (const void* b, int n, Type t, void* b2, int n2, Type t2, Comm c), b, n, t, b2, n2, t2, c)
MPI_CALL(Neighbor_allgatherv, (const void* b, int n, Type t, void* b2, const int* m, const int* w, Type t2, Comm c), b,
         n, t, b2, m, w, t2, c)
MPI_CALL(Neighbor_alltoall, (const void* b, int n, Type t, void* b2, int n2, Type t2, Comm c), b, n, t, b2, n2, t2, c)
MPI_CALL(Neighbor_alltoallv,
         (const void* b, const int* m, const int* w, Type t, void* b2, const int* m2, const int* w2, Type t2, Comm c),
         b, m, w, t, b2, m2, w2, t2, c)
MPI_CALL(Neighbor_alltoallw,
         (const void* b, const int* m, const MPI_Aint* w, const Type* t, void* b2, const int* m2, const MPI_Aint* w2,
          const Type* t2, Comm c),
         b, m, w, t, b2, m2, w2, t2, c)
MPI_CALL(Comm_dup, (Comm c, Comm* m), c, m)
MPI_CALL(Comm_dup_with_info, (Comm c, MPI_Info i, Comm* m), c, i, m)
MPI_CALL(Comm_split, (Comm c, int g, int k, Comm* m), c, g, k, m)
MPI_CALL(Comm_split_type, (Comm c, int g, int k, MPI_Info i, Comm* m), c, g, k, i, m)
MPI_CALL(Comm_create, (Comm c, MPI_Group g, Comm* m), c, g, m)
MPI_CALL(Comm_create_group, (Comm c, MPI_Group g, int t, Comm* m), c, g, t, m)
MPI_CALL(Comm_free, (Comm * c), c)
MPI_CALL(Cart_create, (Comm c, int n, const int* l, const int* p, int o, Comm* m), c, n, l, p, o, m)
MPI_CALL(Graph_create, (Comm c, int n, const int* i, const int* e, int o, Comm* m), c, n, i, e, o, m)
MPI_CALL(Dist_graph_create_adjacent,
         (Comm c, int n, const int* e, const int* w, int n2, const int* e2, const int* w2, MPI_Info i, int o, Comm* m),
         c, n, e, w, n2, e2, w2, i, o, m)
MPI_CALL(Dist_graph_create,
         (Comm c, int n, const int* f, const int* d, const int* e, const int* w, MPI_Info i, int o, Comm* m), c, n, f,
         d, e, w, i, o, m)
MPI_CALL(Comm_idup, (Comm c, Comm* m, Request* r), c, m, r)
MPI_CALL(Intercomm_create, (Comm c, int l, Comm b, int p, int t, Comm* m), c, l, b, p, t, m)
MPI_CALL(Intercomm_merge, (Comm c, int h, Comm* m), c, h, m)
MPI_CALL(Cart_sub, (Comm c, const int* k, Comm* m), c, k, m)
MPI_CALL(Finalize, ())

MPI_F08_CALL(Sendrecv, mpi_sendrecv_f08_,
             (void* b, void* n, void* t, void* p, void* g, void* b2, void* n2, void* t2, void* p2, void* g2, void* c,
              void* s, void* e),
             b, n, t, p, g, b2, n2, t2, p2, g2, c, s, e)
MPI_F08_CALL(Gatherv, mpi_gatherv_f08_,
             (void* b, void* n, void* t, void* b2, void* m, void* w, void* t2, void* p, void* c, void* e), b, n, t, b2,
             m, w, t2, p, c, e)
MPI_F08_CALL(Finalize, mpi_finalize_f08_, (void* e), e)

C_CALL(cairn_restore, (cairn_session * s), s, s)
C_CALL(cairn_snapshot, (cairn_session * s, std::uint32_t* v), s, s, v)
C_CALL(cairn_recover, (cairn_session * s), s, s)
C_CALL(cairn_finalize, (cairn_session * *s), *s, s)

extern "C" int cairn_comm(const cairn_session* session, MPI_Comm* comm) {
  const Call call;
  call.meets(session);
  return next<int (*)(const cairn_session*, MPI_Comm*)>("cairn_comm")(session, comm);
}

// Calls of C++ go by their mangled names: a member function takes its object as its first argument.
namespace cairn {

std::uint32_t SessionBase::rank() const {
  return next<std::uint32_t (*)(const SessionBase*)>("_ZNK5cairn11SessionBase4rankEv")(this);
}

RestoreReport SessionBase::restore() {
  const Call call;
  call.begins_in_cairn("cairn_restore", this);
  return next<RestoreReport (*)(SessionBase*)>("_ZN5cairn11SessionBase7restoreEv")(this);
}

std::optional<std::uint32_t> SessionBase::snapshot() {
  const Call call;
  call.begins_in_cairn("cairn_snapshot", this);
  return next<std::optional<std::uint32_t> (*)(SessionBase*)>("_ZN5cairn11SessionBase8snapshotEv")(this);
}

void SessionBase::finalize() {
  const Call call;
  call.begins_in_cairn("cairn_finalize", this);
  next<void (*)(SessionBase*)>("_ZN5cairn11SessionBase8finalizeEv")(this);
}

MPI_Comm Session::comm() const {
  const Call call;
  call.meets(this);
  return next<MPI_Comm (*)(const Session*)>("_ZNK5cairn7Session4commEv")(this);
}

}  // namespace cairn
