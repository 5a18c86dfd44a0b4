#include "torture/mpi/processes.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "session/handover.hpp"
#include "support/key_file.hpp"
#include "torture/mpi/apart.hpp"
#include "torture/mpi/launch.hpp"
#include "torture/mpi/neighbour.hpp"
#include "torture/mpi/piece.hpp"
#include "torture/mpi/places.hpp"
#include "torture/mpi/run.hpp"
#include "torture/mpi/strikes.hpp"

namespace cairn::torture {
namespace {

namespace fs = std::filesystem;
using Faults = Circumstances::Faults;

class ProcessCluster final : public Cluster {
 public:
  ProcessCluster(Programs programs, Tally& tally, const Scenario& scenario, std::string items)
      : programs_(std::move(programs)),
        tally_(tally),
        piece_(scenario.of_heat ? make_heat(programs_, places_.root())
                                : make_self_checking(programs_, places_.root(), scenario.seed, std::move(items))) {}

  [[nodiscard]] bool has(Place place) const override { return places_.has(place); }
  [[nodiscard]] test::StoreImage image(Place place) const override { return places_.image(place); }
  void put_back(Place place, const test::StoreImage& image) override {
    hurt_ = true;
    places_.put_back(place, image);
  }
  void lose(Place place) override {
    hurt_ = true;
    places_.lose(place);
  }

  [[nodiscard]] Faults effect_of(const Life& life) const override { return worst_effect_of(life); }

  [[nodiscard]] Lived live(const Turn& turn, const Begin& begin, Model& model) override {
    remove_leftovers(places_);
    const fs::path output = places_.root() / "output";
    if (places_.move_in(turn.life) && turn.life.outside.room_kib > 0) ++tally_.small;
    if (turn.life.outside.doubled) ++tally_.doubled;
    const auto arguments = piece_->prepare(turn, write_config(turn.life));
    std::unique_ptr<Neighbour> neighbour;
    if (turn.life.outside.beside && is_apart()) neighbour = std::make_unique<Neighbour>(programs_);
    if (neighbour) ++tally_.beside;
    Striker striker(turn.life, places_, tally_);
    const std::string wrong = run_struck({turn.life, places_, [&] { return start(turn, arguments, output); },
                                          [&] { return piece_->count_beginnings(); }, output},
                                         striker);
    places_.move_out(turn.life);
    for (const Struck& struck : striker.struck()) hurt_ |= torture::effect_of(struck.what) == Faults::of_stores;
    const std::string said = contents_of(output);
    if (std::getenv("TORTURE_LOG")) fmt::print("{}", said);
    fs::remove(output);
    Lived lived = piece_->judge({turn, striker.struck(), said, hurt_}, begin, model);
    if (!wrong.empty()) lived.wrong = wrong;
    if (neighbour && lived.wrong.empty()) lived.wrong = neighbour->end();
    return lived;
  }

 private:
  [[nodiscard]] fs::path write_config(const Life& life) const {
    fs::path config = places_.root() / "job.ini";
    std::ofstream(config) << (life.keyed ? key_.setting() : "") << settings_of(life)
                          << fmt::format("[topology]\nnode_size = {}\n", fmt::join(life.nodes, ","));
    return config;
  }

  [[nodiscard]] std::unique_ptr<Launch> start(const Turn& turn, const std::vector<std::string>& arguments,
                                              const fs::path& output) const {
    auto environment = start_environment(places_.root(), is_apart());
    const std::vector<std::uint32_t> lost = told_lost(turn);
    if (!lost.empty()) environment.push_back(fmt::format("{}={}", kLostNodesVariable, fmt::join(lost, ",")));
    ++tally_.lives;
    return std::make_unique<Launch>(start_command(programs_, turn.life, places_.root() / "job.ini", arguments),
                                    environment, output, piece_->program());
  }

  Programs programs_;
  Tally& tally_;
  test::KeyFile key_{"torture"};
  Places places_;
  std::unique_ptr<Piece> piece_;
  bool hurt_ = false;  // some store
};

}  // namespace

std::unique_ptr<Cluster> make_process_cluster(const Programs& programs, Tally& tally, const Scenario& scenario,
                                              const std::string& items) {
  return std::make_unique<ProcessCluster>(programs, tally, scenario, items);
}

}  // namespace cairn::torture
