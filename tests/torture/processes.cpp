#include "torture/processes.hpp"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "session/handover.hpp"
#include "store/names.hpp"
#include "store/posix_store.hpp"
#include "support/temp_directory.hpp"
#include "torture/diary.hpp"
#include "torture/launch.hpp"

namespace cairn::torture {
namespace {

namespace fs = std::filesystem;
using Time = std::chrono::steady_clock;
using Kind = Fault::Kind;
using std::chrono::milliseconds;

constexpr std::chrono::seconds kLimit{90};  // of a life
constexpr milliseconds kLook{3};
constexpr const char* kJob = "job";

// What a fault drawn for threads becomes where only processes and directories can be touched. `at`: milliseconds after
// the first rank has begun.
enum class Strike { none, kill_one, kill_launcher, stop_one, wipe, take_away };

Strike strike_of(const Fault& fault) {
  switch (fault.kind) {
    case Kind::message_kills:
    case Kind::operation_kills: return Strike::kill_one;
    case Kind::read_kills: return Strike::kill_launcher;
    case Kind::slow: return Strike::stop_one;
    case Kind::wiped: return Strike::wipe;
    case Kind::store_gone: return fault.host ? Strike::wipe : Strike::take_away;
    default: return Strike::none;
  }
}

milliseconds delay_of(const Fault& fault) {
  constexpr std::uint64_t kMost = 150;
  return milliseconds(fault.at % kMost);
}

class ProcessCluster final : public Cluster {
 public:
  ProcessCluster(Programs programs, std::uint64_t seed, std::string items)
      : programs_(std::move(programs)), seed_(seed), items_(std::move(items)) {
    for (const char* part : {"hosts", "local", "global"}) fs::create_directory(root_ / part);
  }

  [[nodiscard]] bool has(Place place) const override { return !place || fs::exists(directory_of(place)); }

  [[nodiscard]] test::StoreImage image(Place place) const override {
    const auto store = PosixStore::open_existing(directory_of(place), kJob);
    return store ? test::image_of(**store) : test::StoreImage{};
  }

  void put_back(Place place, const test::StoreImage& image) override {
    lose(place);
    const auto store = PosixStore::open(directory_of(place), kJob);
    if (store) test::write_image(**store, image);
  }

  void lose(Place place) override {
    fs::remove_all(directory_of(place));
    fs::create_directory(directory_of(place));
  }

  [[nodiscard]] Circumstances::Faults effect_of(const Life& life) const override {
    using Faults = Circumstances::Faults;
    Faults worst = calls_may_fail(life) ? Faults::of_calls : Faults::none;
    for (const Fault& fault : life.faults) {
      const Strike strike = strike_of(fault);
      if (strike == Strike::wipe || strike == Strike::take_away) return Faults::of_stores;
      if (strike == Strike::kill_one || strike == Strike::kill_launcher) worst = Faults::of_calls;
    }
    return worst;
  }

  [[nodiscard]] Lived live(const Turn& turn, Ledger& ledger, Model& model) override {
    const fs::path diaries = root_ / "diaries";
    fs::remove_all(diaries);
    fs::create_directory(diaries);
    move_in(turn.life);
    std::string wrong;
    {
      Launch launch(command(turn, diaries), environment(turn), root_ / "output", programs_.program);
      if (!watch(launch, turn.life, diaries)) wrong = "the job did not end in time";
    }
    move_out(turn.life);
    Lived lived = read_diaries(diaries, ledger);
    for (const Hurt& hurt : std::exchange(hurt_, {})) {
      if (hurt.place) model.host_is_hurt(*hurt.place);
      if (!hurt.place) model.global_is_hurt(hurt.lost);
    }
    lived.wrong = wrong;
    if (std::getenv("TORTURE_LOG")) fmt::print("{}", output());
    fs::remove(root_ / "output");
    return lived;
  }

 private:
  [[nodiscard]] fs::path directory_of(Place place) const {
    return place ? root_ / "hosts" / std::to_string(*place) : root_ / "global";
  }
  [[nodiscard]] fs::path node_directory(std::size_t node) const {
    return root_ / "local" / names::node_directory(NodeId{static_cast<std::uint32_t>(node)});
  }

  // Hosts become nodes by their names.
  void move_in(const Life& life) {
    for (std::size_t node = 0; node < life.hosts.size(); ++node) {
      if (!has(life.hosts[node])) fs::create_directory(directory_of(life.hosts[node]));
      fs::rename(directory_of(life.hosts[node]), node_directory(node));
    }
  }
  void move_out(const Life& life) {
    for (std::size_t node = 0; node < life.hosts.size(); ++node)
      fs::rename(node_directory(node), directory_of(life.hosts[node]));
  }

  [[nodiscard]] std::vector<std::string> command(const Turn& turn, const fs::path& diaries) const {
    const fs::path config = root_ / "job.ini";
    std::ofstream(config) << settings_of(turn.life)
                          << fmt::format("[topology]\nnode_size = {}\n", fmt::join(turn.life.nodes, ","));
    const std::uint32_t world = std::accumulate(turn.life.nodes.begin(), turn.life.nodes.end(), 0U);
    return {programs_.mpirun,
            "--oversubscribe",
            "--bind-to",
            "none",
            "-n",
            std::to_string(world),
            programs_.program,
            std::to_string(seed_),
            items_,
            std::to_string(turn.number),
            config,
            diaries};
  }

  [[nodiscard]] std::vector<std::string> environment(const Turn& turn) const {
    std::vector<std::string> variables{fmt::format("CAIRN_STORAGE_LOCAL={}", (root_ / "local").string()),
                                       fmt::format("CAIRN_STORAGE_GLOBAL={}", (root_ / "global").string()),
                                       "CAIRN_LOG_LEVEL=info", "OMPI_ALLOW_RUN_AS_ROOT=1",
                                       "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_mpi_yield_when_idle=1",
                                       // What killed ranks leave goes with the directory.
                                       fmt::format("OMPI_MCA_btl_vader_backing_directory={}", root_.string())};
    const std::vector<std::uint32_t> lost = told_lost(turn);
    if (!lost.empty()) variables.push_back(fmt::format("{}={}", kLostNodesVariable, fmt::join(lost, ",")));
    return variables;
  }

  // Until it has ended, or its time is over. Strikes meanwhile.
  bool watch(Launch& launch, const Life& life, const fs::path& diaries) {
    const Time::time_point start = Time::now();
    std::optional<Time::time_point> begun;
    std::vector<Fault> to_come = life.faults;
    while (!launch.has_ended()) {
      const Time::time_point now = Time::now();
      if (now - start > kLimit) return false;
      if (!begun && has_diaries(diaries)) begun = now;
      std::erase_if(to_come, [&](const Fault& fault) {
        const bool now_due = begun && now - *begun >= delay_of(fault);
        if (now_due) strike(launch, life, fault);
        return now_due;
      });
      std::this_thread::sleep_for(kLook);
    }
    return true;
  }

  void strike(Launch& launch, const Life& life, const Fault& fault) {
    const Strike what = strike_of(fault);
    const std::vector<pid_t> processes = launch.processes();
    const pid_t victim = processes.empty() ? launch.launcher() : processes[fault.at % processes.size()];
    if (what == Strike::kill_one) kill(victim, SIGKILL);
    if (what == Strike::kill_launcher) kill(launch.launcher(), SIGKILL);
    if (what == Strike::stop_one) {
      constexpr milliseconds kStopped{100};
      kill(victim, SIGSTOP);
      std::this_thread::sleep_for(kStopped);
      kill(victim, SIGCONT);
    }
    if (what == Strike::wipe) wipe(life, fault);
    if (what == Strike::take_away) take_away();
  }

  // Of the files that are there now; others come meanwhile.
  void wipe(const Life& life, const Fault& fault) {
    fs::path job = root_ / "global" / kJob;
    if (fault.host) {
      const auto node = node_of(life, *fault.host);
      if (!node) return;
      job = node_directory(*node) / kJob;
    }
    hurt_.push_back({fault.host, true});
    std::error_code busy;
    fs::remove_all(job, busy);
  }

  // And brings it back. What was written elsewhere meanwhile is put aside.
  void take_away() {
    constexpr milliseconds kAway{100};
    std::error_code none;
    fs::rename(root_ / "global", root_ / "away", none);
    std::this_thread::sleep_for(kAway);
    fs::remove_all(root_ / "global", none);
    fs::rename(root_ / "away", root_ / "global", none);
    hurt_.push_back({std::nullopt, false});
  }

  [[nodiscard]] std::string output() const {
    std::stringstream text;
    text << std::ifstream(root_ / "output").rdbuf();
    return text.str();
  }

  // Of the life that is played.
  struct Hurt {
    Place place;
    bool lost = false;
  };

  Programs programs_;
  std::uint64_t seed_;
  std::string items_;
  test::TempDirectory directory_{"/dev/shm"};
  fs::path root_ = directory_.path();
  std::vector<Hurt> hurt_;
};

}  // namespace

std::unique_ptr<Cluster> make_process_cluster(const Programs& programs, std::uint64_t seed, const std::string& items) {
  return std::make_unique<ProcessCluster>(programs, seed, items);
}

}  // namespace cairn::torture
