#include "torture/mpi/heat.hpp"

#include <fstream>
#include <regex>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "torture/mpi/piece.hpp"
#include "torture/mpi/run.hpp"

namespace cairn::torture {
namespace {

namespace fs = std::filesystem;
using Faults = Circumstances::Faults;

std::size_t count_of(const std::string& words, const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++count;
  return count;
}

// Why it has ended: a line of heat's that tells nothing of a good course, an error that ended the job, or ckpt-run's.
bool says_why(const std::string& output) {
  static const std::regex good(
      "heat: (starts at|continues at|lost nodes|ranks |rank [0-9]+ from |[0-9]+ of |.* holds the plate).*");
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("error: ") != std::string::npos || line.find("ckpt-run: gave up: ") != std::string::npos) return true;
    if (line.starts_with("heat: ") && !std::regex_match(line, good)) return true;
  }
  return false;
}

class Heat final : public Piece {
 public:
  Heat(const Programs& programs, fs::path root) : programs_(programs), root_(std::move(root)) {}

  [[nodiscard]] std::string program() const override { return programs_.heat; }

  [[nodiscard]] std::vector<std::string> prepare(const Turn&, const fs::path& config) override {
    if (reference_.empty()) reference_ = undisturbed_plate(programs_, root_);
    fs::remove(plate());
    return heat_command(programs_, config, plate(), "5");
  }

  [[nodiscard]] std::size_t count_beginnings() const override {
    const std::string said = contents_of(root_ / "output");
    return count_of("heat: starts at step", said) + count_of("heat: continues at step", said);
  }

  [[nodiscard]] Lived judge(const Played& played, const Begin& begin, Model&) const override {
    const Life& life = played.turn.life;
    const Faults worst = worst_effect_of(life);
    begin({0, false, worst});  // of which nothing is noted
    if (reference_.empty()) return {{}, "heat does not run, even where nothing happens to it"};
    if (fs::exists(plate())) {
      if (contents_of(plate()) != reference_) return {{}, "heat's plate is not that of a run that nothing happens to"};
      return {};
    }
    if (says_why(played.output)) {
      const bool may_be_refused = played.hurt || played.turn.others || life.strangers || life.outside.doubled ||
                                  worst == Faults::of_stores || life.start == Life::Start::required;
      const bool ended_from_outside = !life.outside.supervised && !played.struck.empty();
      if (may_be_refused || ended_from_outside) return {};
      return {{}, "heat gave up, and no store was hurt"};
    }
    if (!life.outside.supervised && !played.struck.empty()) return {};
    return {{}, "heat has ended without a plate, and does not say why"};
  }

 private:
  [[nodiscard]] fs::path plate() const { return root_ / "plate.bin"; }

  Programs programs_;
  fs::path root_;
  std::string reference_;
};

}  // namespace

std::vector<std::string> heat_command(const Programs& programs, const fs::path& config, const fs::path& plate,
                                      const std::string& pause_ms) {
  return {programs.heat, "--size", "61",       "--width", "47",         "--steps", "60",
          "--config",    config,   "--output", plate,     "--pause-ms", pause_ms};
}

std::string undisturbed_plate(const Programs& programs, const fs::path& root) {
  const fs::path own = root / "undisturbed";
  fs::create_directory(own);
  const fs::path config = own / "job.ini";
  std::ofstream(config) << "[levels]\nl4 = off\n[topology]\nnode_size = 2\n";
  Life life;
  life.nodes = {2};
  const auto started = start_command(programs, life, config, heat_command(programs, config, own / "plate.bin", "0"));
  Launch launch(started, start_environment(own, is_apart()), own / "output", programs.heat);
  launch.wait();
  std::string plate = contents_of(own / "plate.bin");
  fs::remove_all(own);
  return plate;
}

std::unique_ptr<Piece> make_heat(const Programs& programs, fs::path root) {
  return std::make_unique<Heat>(programs, std::move(root));
}

}  // namespace cairn::torture
