#include "mpi/launcher.hpp"

#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.hpp"
#include "base/log.hpp"
#include "comm/share.hpp"
#include "mpi/mpi_library.hpp"
#include "mpi/mpi_request.hpp"
#include "mpi/process.hpp"
#include "tap/hear.hpp"
#include "tap/world.hpp"

namespace cairn {
namespace {

using MarkKind = CompletionMark::Kind;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// The error that ends the job may also reach ranks as exceptions. They must not replace its mark, which says more.
void leave_at(const std::string& path, const CompletionMark& mark) {
  if (mark.kind == MarkKind::failed) {
    const auto before = read_mark(path);
    if (before && before->kind != MarkKind::none && before->kind != MarkKind::opened) return;
  }
  (void)write_mark(path, mark);
}

void put_numbers(ByteWriter& out, const std::vector<std::uint32_t>& numbers) {
  out.put(static_cast<std::uint32_t>(numbers.size()));
  for (const std::uint32_t number : numbers) out.put(number);
}

Buffer encode(const Launcher& launcher) {
  ByteWriter out;
  out.put_text(launcher.mark);
  put_numbers(out, launcher.failures.dead_ranks);
  put_numbers(out, launcher.failures.lost_nodes);
  out.put_text(launcher.started ? started_text(*launcher.started) : std::string());
  out.put(launcher.world.has_value());
  put_numbers(out, launcher.world ? launcher.world->node_size : std::vector<std::uint32_t>{});
  out.put(launcher.world ? launcher.world->spares : 0U);
  out.put(launcher.world && launcher.world->repairs);
  out.put(launcher.by_a_rank);
  out.put(launcher.goes_on);
  out.put_text(launcher.ended);
  out.put_text(launcher.rehearsal);
  return out.take();
}

std::vector<std::uint32_t> get_numbers(ByteReader& in) {
  std::vector<std::uint32_t> numbers;
  const auto count = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && in.good(); ++i) numbers.push_back(in.get<std::uint32_t>());
  return numbers;
}

// "4711-98023"
std::string text_of_this_process() {
  const ProcessId process = this_process();
  return fmt::format("{}-{}", process.number, process.started);
}

// ckpt-run has not started this process if another one has used the environment, if MPI has spawned it, or if there are
// too few processes. Another MPI, which Session::open refuses, cannot be asked.
bool is_by_a_rank(const std::optional<StartedNumbers>& started) {
  const std::string process = variable(kProcessVariable);
  if (!process.empty() && process != text_of_this_process()) return true;
  if (!mpi_is_running() || !check_mpi_library()) return false;
  const tap::Unheard own;
  MPI_Comm parent = MPI_COMM_NULL;
  int size = 0;
  MPI_Comm_get_parent(&parent);
  MPI_Comm_size(tap::all_processes(), &size);
  return parent != MPI_COMM_NULL || (started && static_cast<std::uint32_t>(size) < started->ranks + started->heads);
}

}  // namespace

void Launcher::take_environment() {
  if (!variable(kJobVariable).empty() && variable(kProcessVariable).empty())
    setenv(kProcessVariable, text_of_this_process().c_str(), 1);
}

Result<Launcher> Launcher::from_environment() {
  auto dead_ranks = parse_numbers(kDeadRanksVariable, variable(kDeadRanksVariable));
  if (!dead_ranks) return fail(dead_ranks.error());
  auto lost_nodes = parse_numbers(kLostNodesVariable, variable(kLostNodesVariable));
  if (!lost_nodes) return fail(lost_nodes.error());
  auto started = parse_started(variable(kStartedVariable));
  if (!started) return fail(started.error());
  auto world = parse_world({{kWorldVariable, variable(kWorldVariable)},
                            {kNodeSizeVariable, variable(kNodeSizeVariable)},
                            {kSparesVariable, variable(kSparesVariable)},
                            {kRepairsVariable, variable(kRepairsVariable)}});
  if (!world) return fail(world.error());
  Launcher launcher{.mark = variable(kMarkVariable),
                    .failures = {std::move(*dead_ranks), std::move(*lost_nodes)},
                    .started = *started,
                    .world = std::move(*world),
                    .by_a_rank = is_by_a_rank(*started),
                    .goes_on = variable(kGoesOnVariable) == "1",
                    .ended = variable(kEndedVariable),
                    .rehearsal = variable(kRehearsalVariable)};
  if (!launcher.by_a_rank) return launcher;
  launcher.failures = {};
  launcher.started.reset();
  return launcher;
}

Result<Launcher> Launcher::share(Comm& world, const FailureTopology& told) {
  take_environment();
  Result<Buffer> mine;
  if (world.rank().value == 0) {
    mine = from_environment().map([&](Launcher launcher) {
      if (!told.dead_ranks.empty() || !told.lost_nodes.empty()) launcher.failures = told;
      return encode(launcher);
    });
  }
  const auto bytes = cairn::share(world, mine, Peer{0}, "world rank");
  if (!bytes) return fail(bytes.error());
  ByteReader in(*bytes);
  Launcher launcher;
  launcher.mark = in.get_text();
  launcher.failures.dead_ranks = get_numbers(in);
  launcher.failures.lost_nodes = get_numbers(in);
  const auto started = parse_started(in.get_text());
  if (!started) return fail(started.error());
  launcher.started = *started;
  const bool has_world = in.get<bool>();
  StartedWorld started_world;
  started_world.node_size = get_numbers(in);
  started_world.spares = in.get<std::uint32_t>();
  started_world.repairs = in.get<bool>();
  if (has_world) launcher.world = std::move(started_world);
  launcher.by_a_rank = in.get<bool>();
  launcher.goes_on = in.get<bool>();
  launcher.ended = in.get_text();
  launcher.rehearsal = in.get_text();
  if (!in.good()) return fail_internal(Code::communication, "the message from world rank 0 about ckpt-run is damaged");
  return launcher;
}

bool Launcher::has_ended(const Config& session) const { return ended.find(session_name(session)) != std::string::npos; }

void Launcher::leave(const CompletionMark& mark_to_leave) const {
  if (!mark.empty()) leave_at(mark, mark_to_leave);
}

void Launcher::leave(const Config& session, const CompletionMark& mark_to_leave) const {
  if (mark.empty()) return;
  const std::string path = mark_of_session(mark, session_name(session));
  if (mark_to_leave.kind == MarkKind::none) {
    if (read_mark(path).value_or(CompletionMark{}) == CompletionMark{MarkKind::opened, {}})
      (void)write_mark(mark, {MarkKind::opened, {}});
  } else if (mark_to_leave == CompletionMark{MarkKind::opened, {}}) {
    (void)write_mark(mark, {});
  }
  leave_at(path, mark_to_leave);
}

void Launcher::leave(const Error& error) const {
  if (restart_would_fail(error.code)) leave(CompletionMark{MarkKind::error, error.text(), {}, cause_of(error)});
}

void Launcher::tell(const CompletionMark& why) const {
  Log(LogLevel::error).error("{}", why.text);
  leave(why);
}

void Launcher::end_job(MPI_Comm world, const CompletionMark& why) const {
  tell(why);
  MPI_Abort(world, EXIT_FAILURE);
}

}  // namespace cairn
