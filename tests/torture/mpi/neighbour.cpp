#include "torture/mpi/neighbour.hpp"

#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "torture/mpi/heat.hpp"
#include "torture/mpi/run.hpp"

namespace cairn::torture {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kUser = 1'500'000'001;  // nobody's
constexpr const char* kPause = "10";    // milliseconds
constexpr const char* kConfig =
    "[job]\nname = job\n[storage]\nglobal = {}/global\n[levels]\nl1 = every 3\nl2 = every 6\nl3 = off\nl4 = off\n"
    "[head]\nmode = rank\n[topology]\nnode_size = 2\n[restart]\nat_end = continue\n";

fs::path stores() { return fmt::format("/dev/shm/cairn-{}", kUser); }

}  // namespace

Neighbour::Neighbour(const Programs& programs) : programs_(programs), home_("/dev/shm/neighbour") {
  fs::create_directory(home_);
  fs::copy(programs_.heat, home_ / "heat");  // where it was built may be closed to others
  std::ofstream(home_ / "job.ini") << fmt::format(fmt::runtime(kConfig), home_.string());
  if (chown(home_.c_str(), kUser, kUser) != 0) fs::permissions(home_, fs::perms::all);
  programs_.heat = home_ / "heat";
  std::vector<std::string> command{"setpriv", fmt::format("--reuid={}", kUser), fmt::format("--regid={}", kUser),
                                   "--clear-groups"};
  Life life;
  life.nodes = {2, 2};
  const auto started = start_command(programs_, life, home_ / "job.ini",
                                     heat_command(programs_, home_ / "job.ini", home_ / "plate.bin", kPause));
  command.insert(command.end(), started.begin(), started.end());
  const std::vector<std::string> environment{fmt::format("HOME={}", home_.string()),
                                             fmt::format("TMPDIR={}", home_.string()),
                                             "OMPI_MCA_mpi_yield_when_idle=1"};
  launch_ = std::make_unique<Launch>(command, environment, home_ / "output", programs_.heat);
}

Neighbour::~Neighbour() {
  launch_.reset();
  std::error_code ignored;
  fs::remove_all(home_, ignored);
  fs::remove_all(stores(), ignored);
}

std::string Neighbour::end() {
  constexpr std::chrono::seconds kLimit{120};
  const auto last = std::chrono::steady_clock::now() + kLimit;
  while (!launch_->has_ended()) {
    if (std::chrono::steady_clock::now() > last) return "another user's job did not end in time";
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  if (launch_->code() != 0)
    return fmt::format("another user's job ended with {}: {}", launch_->code(), contents_of(home_ / "output"));
  if (contents_of(home_ / "plate.bin") != undisturbed_plate(programs_, home_))
    return "another user's plate is not that of a run that nothing happens to";
  constexpr auto kOthers = fs::perms::group_all | fs::perms::others_all;
  const bool is_closed = (fs::status(stores()).permissions() & kOthers) == fs::perms::none;
  return is_closed ? "" : fmt::format("{} is open to others", stores().string());
}

}  // namespace cairn::torture
