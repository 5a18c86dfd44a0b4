#include "launcher_end.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>

#include <fmt/format.h>

namespace ckpt_run {
namespace {

// With these, mpirun of Open MPI 4 means that it cannot start the program, but also that a signal has ended a rank.
constexpr int kCannotStart[] = {131, 132, 134};

// "SIGSEGV"; empty: such a code means no signal.
std::string signal_text(int code) {
  const char* const signal = code > kOfSignals ? ::sigabbrev_np(code - kOfSignals) : nullptr;
  return signal == nullptr ? std::string() : fmt::format("SIG{}", signal);
}

bool means_no_signal(const LifeEnd& end, LauncherKind kind) {
  if (!end.not_run.empty()) return true;
  return kind == LauncherKind::open_mpi && !end.had_ranks &&
         std::ranges::find(kCannotStart, end.code) != std::end(kCannotStart);
}

}  // namespace

std::string how_it_ended(const std::string& launcher, const LifeEnd& end, LauncherKind kind) {
  const std::string name = std::filesystem::path(launcher).filename().string();
  const std::string signal = signal_text(end.code);
  if (end.crashed) return fmt::format("{} was killed by {}", name, signal);
  const auto how =
      fmt::format("{} {} code {}", name, end.ended_here ? "was ended by ckpt-run with" : "ended with", end.code);
  return signal.empty() || means_no_signal(end, kind) ? how : fmt::format("{} ({})", how, signal);
}

}  // namespace ckpt_run
