#include <algorithm>
#include <chrono>
#include <utility>

#include "torture/mpi/diary.hpp"
#include "torture/mpi/piece.hpp"

namespace cairn::torture {
namespace {

namespace fs = std::filesystem;
using Faults = Circumstances::Faults;

void tell_hurt(const Struck& struck, Model& model) {
  if (effect_of(struck.what) != Faults::of_stores) return;
  if (struck.place) model.host_is_hurt(*struck.place);
  if (!struck.place) model.global_is_hurt(struck.lost);
  if (struck.mark) model.mark_is_hurt();
}

class SelfChecking final : public Piece {
 public:
  SelfChecking(const Programs& programs, const fs::path& root, std::uint64_t seed, std::string items)
      : program_(programs.program),
        mpi_(name_of(programs.mpi)),
        diaries_(root / "diaries"),
        seed_(seed),
        items_(std::move(items)) {}

  [[nodiscard]] std::string program() const override { return program_; }

  [[nodiscard]] std::vector<std::string> prepare(const Turn& turn, const fs::path& config) override {
    mends_ = turn.life.outside.mending != Outside::Mending::none;
    fs::remove_all(diaries_);
    fs::create_directory(diaries_);
    return {program_, std::to_string(seed_), items_, std::to_string(turn.number), config, diaries_, mpi_};
  }

  // Nobody replaces a process before there is a session.
  [[nodiscard]] std::size_t count_beginnings() const override {
    return mends_ ? count_attempts(diaries_) : torture::count_beginnings(diaries_);
  }

  // What the application has noted, attempt by attempt, and what happened to its stores meanwhile: a promise that was
  // made before that was noticed is void as well.
  [[nodiscard]] Lived judge(const Played& played, const Begin& begin, Model& model) const override {
    const Diaries diaries = read_diaries(diaries_);
    const auto tell = [&](std::ptrdiff_t attempt) {
      for (const Struck& struck : played.struck) {
        const auto opened = [&](const Chapter& chapter) { return chapter.opened <= struck.at; };
        if (std::ranges::count_if(diaries.chapters, opened) == attempt) tell_hurt(struck, model);
      }
    };
    tell(0);
    for (std::size_t i = 0; i < diaries.chapters.size(); ++i) {
      const Chapter& chapter = diaries.chapters[i];
      const Faults effect = effect_since(chapter.began, i, played.turn.life, played.struck);
      // A job that has mended itself may have nobody left on some node, whose store it cannot open then.
      const bool mended = i > 0 && played.turn.life.outside.mending != Outside::Mending::none;
      copy(chapter, begin({i, chapter.goes_on || mended, mended ? Faults::of_stores : effect}));
      const auto number = static_cast<std::ptrdiff_t>(i);
      tell(number);      // it may have opened its stores before that
      tell(number + 1);  // what happened while it ran
    }
    if (!diaries.chapters.empty()) return {};
    begin({0, false, worst_effect_of(played.turn.life)});
    return {diaries.open_error, {}};
  }

 private:
  std::string program_;
  std::string mpi_;
  fs::path diaries_;
  std::uint64_t seed_;
  std::string items_;
  bool mends_ = false;  // the life that is played
};

}  // namespace

std::unique_ptr<Piece> make_self_checking(const Programs& programs, fs::path root, std::uint64_t seed,
                                          std::string items) {
  return std::make_unique<SelfChecking>(programs, root, seed, std::move(items));
}

Faults worst_effect_of(const Life& life) {
  Faults worst = calls_may_fail(life) || life.outside.doubled ? Faults::of_calls : Faults::none;
  if (life.outside.room_kib > 0) worst = Faults::of_stores;
  for (const Fault& fault : life.faults) worst = std::max(worst, effect_of(strike_of(fault, life)));
  return worst;
}

Faults effect_since(Moment began, std::size_t attempt, const Life& life, const std::vector<Struck>& struck) {
  constexpr std::chrono::seconds kMargin{1};  // from what is done to an attempt until it is noted that it has begun
  const bool of_itself = attempt == 0 && calls_may_fail(life);
  Faults worst = of_itself || life.outside.doubled ? Faults::of_calls : Faults::none;
  if (life.outside.room_kib > 0) worst = Faults::of_stores;
  for (const Struck& one : struck) {
    if (one.at > began - kMargin) worst = std::max(worst, effect_of(one.what));
  }
  return worst;
}

}  // namespace cairn::torture
