#include "repair/respawn.hpp"

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "mpi/mpi_request.hpp"
#include "mpi/ulfm.hpp"
#include "repair/command_line.hpp"
#include "tap/hear.hpp"

namespace cairn::respawn {
namespace {

constexpr int kTag = 1;

// Values of the agreement on a start.
constexpr int kWell = 1;
constexpr int kNotRefused = 2;

// The same with the libraries that were preloaded into this process, such as libcairn-tap. ckpt-run names them to the
// ranks alone, so the daemon that starts the new processes does not have this variable.
CommandLine with_preload(CommandLine line) {
  const char* const preload = std::getenv("LD_PRELOAD");
  if (preload == nullptr || *preload == '\0') return line;
  line.arguments.insert(line.arguments.begin(), {std::string("LD_PRELOAD=") + preload, line.program});
  line.program = "/usr/bin/env";
  return line;
}

// Checked before the start: if mpirun of Open MPI 5.0 cannot run the program, it also kills the process that requested
// the start, and reports nothing.
bool can_run(const std::string& program) {
  namespace fs = std::filesystem;
  std::error_code error;
  const auto status = fs::status(program, error);
  constexpr auto kAnybody = fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
  return !error && fs::is_regular_file(status) && (status.permissions() & kAnybody) != fs::perms::none;
}

// The result of a start, as the starter knows it.
struct Started {
  MPI_Comm bridge = MPI_COMM_NULL;  // with the newcomers
  int code = MPI_SUCCESS;
  bool refused = false;  // nothing is started
};

// The intercommunicator to the newcomers is never freed: that hangs.
Started start(const NewProcesses& what) {
  CommandLine line = this_command_line();
  if (!can_run(line.program)) return {.refused = true};
  line = with_preload(std::move(line));
  std::vector<char*> argv;
  for (std::string& argument : line.arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "wdir", line.directory.c_str());
  if (!what.host.empty()) MPI_Info_set(info, "host", what.host.c_str());
  MPI_Info_set(info, "PMIX_ENVAR", what.variable.c_str());
  MPI_Comm newcomers = MPI_COMM_NULL;
  Started started;
  const tap::Unheard own;
  started.code = MPI_Comm_spawn(line.program.c_str(), argv.data(), static_cast<int>(what.count), info, 0, MPI_COMM_SELF,
                                &newcomers, MPI_ERRCODES_IGNORE);
  MPI_Info_free(&info);
  started.refused = started.code != MPI_SUCCESS;
  if (started.refused) return started;
  MPI_Comm_set_errhandler(newcomers, MPI_ERRORS_RETURN);
  started.code = MPI_Intercomm_merge(newcomers, 0, &started.bridge);
  if (started.code == MPI_SUCCESS) MPI_Comm_set_errhandler(started.bridge, MPI_ERRORS_RETURN);
  return started;
}

// The steps of making one communicator of two groups, at either end. `mine`: this end's group, whose `leader` has the
// `bridge` to the other end's, number `other_leader` there. Every step ends in an agreement of this end.
class Join {
 public:
  Join(MPI_Comm mine, int leader, MPI_Comm bridge, int other_leader)
      : mine_(mine), leader_(leader), bridge_(bridge), other_leader_(other_leader) {}

  Result<MPI_Comm> run(int high) {
    const tap::Unheard own;
    int code = MPI_Intercomm_create(mine_, leader_, bridge_, other_leader_, kTag, &between_);
    if (auto status = agree_on(code, "joining new processes"); !status) return fail(status.error());
    MPI_Comm_set_errhandler(between_, MPI_ERRORS_RETURN);
    code = MPI_Intercomm_merge(between_, high, &all_);
    if (auto status = agree_on(code, "merging new processes"); !status) return fail(status.error());
    MPI_Comm_set_errhandler(all_, MPI_ERRORS_RETURN);
    return all_;
  }

  // No process may wait, at either end, for a step that will not come.
  void give_up() {
    for (MPI_Comm comm : {mine_, bridge_, between_, all_}) {
      if (comm != MPI_COMM_NULL) ulfm::revoke(comm);
    }
  }

 private:
  Status agree_on(int code, const char* step) {
    if (code != MPI_SUCCESS) give_up();
    const auto word = ulfm::agree(mine_, code == MPI_SUCCESS ? 1 : 0);
    if (word && word->word == 1) return {};
    give_up();
    return fail(mpi_error(code != MPI_SUCCESS ? code : MPI_ERR_OTHER, step));
  }

  MPI_Comm mine_;
  int leader_;
  MPI_Comm bridge_;
  int other_leader_;
  MPI_Comm between_ = MPI_COMM_NULL;
  MPI_Comm all_ = MPI_COMM_NULL;
};

}  // namespace

Result<MPI_Comm> grow(MPI_Comm live, const NewProcesses& what) {
  int me = 0;
  MPI_Comm_rank(live, &me);
  const int leader = static_cast<int>(what.starter);
  Started started;
  if (me == leader) started = start(what);
  Join join(live, leader, started.bridge, 1);
  int code = started.code;
  if (MPI_Bcast(&code, 1, MPI_INT, leader, live) != MPI_SUCCESS) {
    code = MPI_ERR_OTHER;
    join.give_up();
  }
  // Only some processes may detect a death meanwhile. Only the starter has mpirun's answer.
  const auto word = ulfm::agree(live, (code == MPI_SUCCESS ? kWell : 0) | (started.refused ? 0 : kNotRefused));
  if (word && (word->word & kNotRefused) == 0) return MPI_COMM_NULL;
  if (!word || (word->word & kWell) == 0) {
    join.give_up();
    return fail(mpi_error(code == MPI_SUCCESS ? MPI_ERR_OTHER : code, "starting new processes"));
  }
  return join.run(0);
}

bool is_newcomer() {
  const tap::Unheard own;
  MPI_Comm parent = MPI_COMM_NULL;
  return MPI_Comm_get_parent(&parent) == MPI_SUCCESS && parent != MPI_COMM_NULL &&
         std::getenv(kPoolVariable) != nullptr;
}

bool is_newcomer_in_world() {
  return is_newcomer() && std::string_view(std::getenv(kPoolVariable)).ends_with(kReplacesWorld);
}

void leave() {
  (void)std::raise(SIGKILL);
  std::abort();
}

MPI_Comm join(MPI_Comm newcomers) {
  // A process that this one starts later is not a newcomer.
  unsetenv(kPoolVariable);
  MPI_Comm parent = MPI_COMM_NULL;
  MPI_Comm_get_parent(&parent);
  MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
  MPI_Comm mine = MPI_COMM_NULL;
  MPI_Comm bridge = MPI_COMM_NULL;
  const tap::Unheard own;
  if (MPI_Comm_dup(newcomers, &mine) != MPI_SUCCESS) leave();
  MPI_Comm_set_errhandler(mine, MPI_ERRORS_RETURN);
  if (MPI_Intercomm_merge(parent, 1, &bridge) != MPI_SUCCESS) leave();
  MPI_Comm_set_errhandler(bridge, MPI_ERRORS_RETURN);
  auto grown = Join(mine, 0, bridge, 0).run(1);
  if (!grown) leave();
  return *grown;
}

}  // namespace cairn::respawn
