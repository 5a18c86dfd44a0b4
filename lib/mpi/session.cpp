// The public Session: SessionImpl over MPI communicators and POSIX stores.
#include <array>
#include <chrono>
#include <utility>

#include <cairn/cairn.hpp>

#include "mpi/launcher.hpp"
#include "mpi/mpi_comm.hpp"
#include "session/exception.hpp"
#include "session/session_impl.hpp"
#include "store/names.hpp"
#include "store/posix_store.hpp"

namespace cairn {
namespace {

std::string host_name() {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  return {name.data(), static_cast<std::size_t>(length)};
}

bool threads_may_communicate() {
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  return provided == MPI_THREAD_MULTIPLE;
}

Result<std::shared_ptr<Store>> open_local(const Config& config, const Topology&, NodeId node) {
  const bool simulated = !config.topology.node_size.empty();
  const std::string root = simulated ? config.storage.local + "/" + names::node_directory(node) : config.storage.local;
  return PosixStore::open(root, config.job.name);
}

Result<std::shared_ptr<Store>> open_global(const Config& config) {
  return PosixStore::open(config.storage.global, config.job.name);
}

}  // namespace

struct Session::Mpi {
  std::unique_ptr<MpiComm> world;
  MPI_Comm ranks = MPI_COMM_NULL;  // the session's
};

Session::Session(std::unique_ptr<SessionImpl> impl, std::unique_ptr<Mpi> mpi)
    : SessionBase(std::move(impl)), mpi_(std::move(mpi)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (mpi_ && mpi_->ranks != MPI_COMM_NULL && finalized == 0) MPI_Comm_free(&mpi_->ranks);
}

std::unique_ptr<Session> Session::open(MPI_Comm world, const std::string& config, const FailureTopology& failures) {
  auto mpi = std::make_unique<Mpi>();
  mpi->world = value_or_throw(MpiComm::duplicate(world));
  const auto launcher = value_or_throw(Launcher::share(*mpi->world));
  const bool told = !failures.dead_ranks.empty() || !failures.lost_nodes.empty();
  const auto start = std::chrono::steady_clock::now();
  Environment environment{
      .world = *mpi->world,
      .host = host_name(),
      .config_file = config,
      .open_local = open_local,
      .open_global = open_global,
      .threads_may_communicate = threads_may_communicate(),
      .failures = told ? failures : launcher.failures,
      .clock =
          [start] {
            return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
          },
      .memory = nullptr,
      .leave_mark = [launcher](const CompletionMark& mark) { launcher.leave(mark); }};
  auto opened = SessionImpl::open(environment);
  if (!opened && mpi->world->rank().value == 0) launcher.leave(opened.error());
  auto impl = value_or_throw(std::move(opened));
  if (!impl) return nullptr;
  // The application's own duplicate: its errors are handled as its world's are, and its messages never meet Cairn's.
  MPI_Comm_dup(static_cast<MpiComm&>(impl->ranks()).raw(), &mpi->ranks);
  MPI_Errhandler handler = MPI_ERRORS_ARE_FATAL;
  MPI_Comm_get_errhandler(world, &handler);
  MPI_Comm_set_errhandler(mpi->ranks, handler);
  return std::unique_ptr<Session>(new Session(std::move(impl), std::move(mpi)));
}

MPI_Comm Session::comm() const { return mpi_->ranks; }

}  // namespace cairn
