// torture_program SEED ITEMS LIFE CONFIG DIARIES MPI: one life of a scenario, of which ITEMS ("none", or "3,8,9") are
// left out, played by the ranks of an MPI job. Each writes a diary. Started by torture --mpi.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <cairn/cairn.hpp>

#include "session/handover.hpp"
#include "torture/application.hpp"
#include "torture/mpi/diary.hpp"

namespace cairn::torture {
namespace {

// So that kills come between and in calls alike.
constexpr std::chrono::milliseconds kPause{4};

bool goes_on() {
  const char* said = std::getenv(kGoesOnVariable);
  return said != nullptr && std::string(said) == "1";
}

std::uint32_t begin_attempt(const Session& session, Diary& diary) {
  std::uint32_t number = session.rank() == 0 ? diary.claim_attempt() : 0;
  MPI_Bcast(&number, 1, MPI_UINT32_T, 0, session.comm());
  diary.begins_attempt(number, goes_on());
  return number;
}

Mpi mpi_of(const std::string& name) {
  for (const Mpi mpi : {Mpi::open_mpi, Mpi::ulfm, Mpi::mpich}) {
    if (name == name_of(mpi)) return mpi;
  }
  std::abort();
}

// How it is to end, where that goes well.
Ending play(Session& session, const Application::Ways& ways, const Life& drawn, std::uint64_t first_stamp,
            Diary& diary) {
  const std::uint32_t attempt = begin_attempt(session, diary);
  const Life life = attempt == 0 ? drawn : again(drawn);
  const bool undisturbed = life.faults.empty() && !life.outside.doubled && life.outside.room_kib == 0;
  const bool well_meant = attempt == 0 && undisturbed && !calls_may_fail(life);
  Application application(session, ways, life, first_stamp + attempt * kStampsOfAnAttempt, well_meant, diary);
  application.run();
  if (life.end == Life::End::die) {
    MPI_Barrier(session.comm());
    raise(SIGKILL);
  }
  return application.has_nothing_to_end() ? Ending::of_nothing : Ending::well;
}

void pause() { std::this_thread::sleep_for(kPause); }

void run_once(const char* config, const Life& life, std::uint64_t first_stamp, Diary& diary) {
  std::unique_ptr<Session> session;
  try {
    session = Session::open(MPI_COMM_WORLD, config);
  } catch (const Exception& error) {
    diary.cannot_open(noted(error));
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
  if (!session) return;  // a head has none
  (void)play(*session, {[] { raise(SIGKILL); }, [&] { session.reset(); }, pause}, life, first_stamp, diary);
}

// In a job that mends itself.
void run_mending(const char* config, const Life& life, std::uint64_t first_stamp, Diary& diary) {
  std::optional<Ending> ending;  // none: a head or a spare, or it was not through
  std::string last_error;
  set_log([&](LogLevel level, const std::string& line) {
    if (level == LogLevel::error) last_error = line;
    std::cerr << "cairn: " << line << std::endl;
  });
  const int code = cairn::run(MPI_COMM_WORLD, config, [&](Session& session) {
    ending.reset();
    ending = play(session, {[] { raise(SIGKILL); }, [] {}, pause, true}, life, first_stamp, diary);
  });
  set_log({});
  if (code != EXIT_SUCCESS) diary.cannot_open(last_error.empty() ? Diary::kToldElsewhere : kFromLog + last_error);
  if (ending) diary.has_finalized(code == EXIT_SUCCESS ? *ending : Ending::failed);
}

int run(char** arguments) {
  const Scenario drawn = draw_outside(std::stoull(arguments[1]), mpi_of(arguments[6]));
  const Scenario scenario = without(drawn, parse_items(arguments[2]));
  const std::size_t number = std::stoul(arguments[3]);
  const Life& life = scenario.lives.at(number);
  Diary diary(arguments[5]);
  const bool mends = life.outside.mending != Outside::Mending::none;
  (mends ? run_mending : run_once)(arguments[4], life, first_stamp_of(number), diary);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace cairn::torture

int main(int argc, char** argv) {
  constexpr int kArguments = 7;
  if (argc != kArguments) return EXIT_FAILURE;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  const int code = cairn::torture::run(argv);
  MPI_Finalize();
  return code;
}
