#include "torture/application.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "support/facts.hpp"

namespace cairn::torture {

Application::Application(SessionBase& session, Ways ways, const Life& life, std::uint64_t first_stamp, bool well_meant,
                         Notes& notes)
    : session_(session),
      ways_(std::move(ways)),
      life_(life),
      first_stamp_(first_stamp),
      well_meant_(well_meant),
      notes_(notes) {
  notes_.opens(session_.size());
  if (life_.elastic) {
    protect_with_kinds();
  } else {
    session_.protect("state", state_);
    session_.protect("stamp", stamp_);
    session_.protect("elements", elements_);
  }
  fill();
}

void Application::run() {
  const bool begun = life_.choice > 0 && choose({Asked::By::first_choice, life_.choice});
  if (life_.start != Life::Start::unasked && !begun) restore(nullptr);
  for (std::size_t i = 0; i < life_.events.size() && !gone_; ++i) {
    next_stamp_ = first_stamp_ + i;
    handle(life_.events[i]);
    note_what_is_safe();
    ways_.pause();
  }
  next_stamp_ = first_stamp_ + life_.events.size();
  if (!gone_) end();
}

void Application::handle(const Event& event) {
  using Kind = Event::Kind;
  switch (event.kind) {
    case Kind::compute: return compute();
    case Kind::snapshot: return snapshot(std::nullopt);
    case Kind::snapshot_to: return snapshot(static_cast<LevelId>(event.level));
    case Kind::wait: call([&] { session_.wait(static_cast<LevelId>(event.level)); }); return;
    case Kind::restore: restore(nullptr); return;
    case Kind::restore_region: restore(life_.elastic ? nullptr : "state"); return;
    case Kind::resize: elements_ = event.number; return;
    case Kind::toggle_more: return toggle_more();
    case Kind::unprotect_unknown:
      if (event.number == session_.rank()) unprotect_unknown();
      return;
    case Kind::kill_job:
      if (event.number == session_.rank()) ways_.kill_job();
      return;
    case Kind::open:
    case Kind::open_pinned: {
      Restored seen;
      const bool pinned = event.kind == Kind::open_pinned;
      static_cast<void>(open(pinned ? Asked::By::open_pinned : Asked::By::open, seen));
      return;
    }
    case Kind::reject: return reject(event.number);
    case Kind::choose: return choose_before_the_newest(event.number);
    case Kind::pinned: return pinned_snapshot();
  }
}

void Application::end() {
  switch (life_.end) {
    case Life::End::die: return;
    case Life::End::finalize: return finalize();
    case Life::End::drop: return drop();
    case Life::End::one_drops: return is_odd() ? drop() : go_on_without_one();
    case Life::End::one_left_out_a_snapshot: leave_out_a_snapshot(); break;
    case Life::End::one_left_out_a_restore: leave_out_a_restore(); break;
  }
  if (!gone_) finalize();
}

void Application::compute() {
  stamp_ = next_stamp_;
  fill();
}

// Every rank has another number of elements, and other ones.
std::vector<double> Application::expected() const { return expected_on(session_.rank()); }

std::vector<double> Application::expected_on(std::uint32_t rank) const { return state_of(stamp_, elements_, rank); }

std::vector<double> Application::state_of(std::uint64_t stamp, std::uint64_t elements, std::uint32_t rank) {
  std::vector<double> state(elements + rank);
  for (std::size_t i = 0; i < state.size(); ++i)
    state[i] = static_cast<double>(stamp) * 1e6 + rank * 1e4 + static_cast<double>(i % 9973);
  return state;
}

void Application::fill() {
  state_ = expected();
  std::ranges::copy(expected_grid(), grid_.begin());
}

void Application::protect_with_kinds() {
  session_.protect("state", state_, sequence);
  session_.protect("stamp", stamp_, same);
  session_.protect("elements", elements_, same);
  const Share mine = share_of(kGrid);
  grid_.resize(kGrid * mine.count);
  if (life_.by_columns)
    session_.protect("grid", grid_.data(), {kGrid, mine.count}, GlobalPlace{{kGrid, kGrid}, {0, mine.first}});
  else
    session_.protect("grid", grid_.data(), {mine.count, kGrid}, GlobalPlace{{kGrid, kGrid}, {mine.first, 0}});
}

// This rank's of so many, cut as evenly as can be.
Application::Share Application::share_of(std::uint64_t all) const {
  const std::uint64_t each = all / session_.size();
  const std::uint64_t more = all % session_.size();
  const std::uint64_t rank = session_.rank();
  return {each * rank + std::min(more, rank), each + (rank < more ? 1 : 0)};
}

std::vector<double> Application::expected_grid() const {
  if (!life_.elastic) return {};
  const Share mine = share_of(kGrid);
  std::vector<double> grid;
  for (std::uint64_t i = 0; i < (life_.by_columns ? kGrid : mine.count); ++i) {
    for (std::uint64_t j = 0; j < (life_.by_columns ? mine.count : kGrid); ++j) {
      const std::uint64_t row = i + (life_.by_columns ? 0 : mine.first);
      const std::uint64_t column = j + (life_.by_columns ? mine.first : 0);
      grid.push_back(static_cast<double>(stamp_ * kGrid * kGrid + row * kGrid + column));
    }
  }
  return grid;
}

// What so many ranks had, one after the other, cut evenly.
std::vector<double> Application::expected_of(std::uint32_t old_ranks) const {
  std::vector<double> all;
  for (std::uint32_t rank = 0; rank < old_ranks; ++rank) {
    const auto one = expected_on(rank);
    all.insert(all.end(), one.begin(), one.end());
  }
  const Share mine = share_of(all.size());
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(mine.first);
  return {first, first + static_cast<std::ptrdiff_t>(mine.count)};
}

void Application::toggle_more() {
  has_more_ = !has_more_;
  if (has_more_) {
    if (life_.elastic)
      session_.protect("more", more_, same);
    else
      session_.protect("more", more_);
  } else {
    session_.unprotect("more");
  }
}

void Application::unprotect_unknown() {
  const auto error = call([&] { session_.unprotect("nothing"); });
  if (!error || !test::has_thing(error->what(), "nothing"))
    notes_.is_wrong("unprotect() of an unknown region is no error that names it");
}

void Application::snapshot(std::optional<LevelId> level) {
  compute();
  has_begun_ = true;
  notes_.tries(stamp_);
  std::optional<std::uint32_t> version;
  call([&] { version = level ? session_.snapshot(*level) : session_.snapshot(); });
  if (version) notes_.takes(*version, stamp_);
}

void Application::pinned_snapshot() {
  call([&] {
    session_.pin();
    session_.label(kPinned);
  });
  notes_.pins(next_stamp_);
  snapshot(std::nullopt);
}

bool Application::choose(const Asked& asked) {
  notes_.chooses(asked);
  return restore(nullptr, asked);
}

// The newest one that can be read is the same for all ranks.
void Application::choose_before_the_newest(std::uint32_t back) {
  Restored newest;
  if (open(Asked::By::open, newest) && newest.version > back) choose({Asked::By::choice, newest.version - back});
}

// What is read is whole, or this says so.
std::optional<OpenSnapshot> Application::open(Asked::By by, Restored& seen) {
  const std::size_t number = restores_++;
  std::optional<OpenSnapshot> found;
  const auto error = call([&] {
    found = by == Asked::By::open_pinned ? session_.open_snapshot(Label{kPinned}) : session_.open_snapshot();
    const std::uint64_t stamp = found->read<std::uint64_t>("stamp").at(0);
    seen = {false, found->version(), stamp, false};
    if (found->read<double>("state") != state_of(stamp, found->read<std::uint64_t>("elements").at(0), session_.rank()))
      notes_.is_wrong(fmt::format("rank {}: version {} was opened with other bytes", session_.rank(), seen.version));
  });
  notes_.restored({number, session_.size(), {by}}, error ? nullptr : &seen, error ? noted(*error) : "");
  if (error) return {};
  return found;
}

void Application::reject(std::uint32_t rank) {
  Restored seen;
  auto found = open(Asked::By::open, seen);
  if (!found) return;
  notes_.rejects(seen.version, seen.stamp);
  bool all_good = true;
  if (call([&] { all_good = found->close(session_.rank() != rank); })) return;
  if (all_good && rank < session_.size()) notes_.is_wrong("a rank rejected what it had opened, and nobody was told");
  if (!all_good) notes_.has_rejected(seen.stamp);
}

bool Application::restore(const char* region, const Asked& asked) {
  const std::size_t number = restores_++;
  has_begun_ = true;
  const std::uint64_t before = stamp_;
  Restored seen;
  auto error = try_restore(region, asked, seen);
  // A snapshot with another set of regions is refused, and the program corrected; again, where that one proves damaged.
  constexpr int kCorrections = 4;
  for (int i = 0; i < kCorrections && error && error->kind() == ErrorKind::mismatch && !life_.strangers; ++i) {
    toggle_more();
    error = try_restore(region, asked, seen);
  }
  undefined_ = error.has_value();
  if (!error) look_at(seen, before);
  notes_.restored({number, session_.size(), asked}, error ? nullptr : &seen, error ? noted(*error) : "");
  if (!error) return true;
  // A program that goes on after a failed restore begins anew, if it is let. Its regions may hold anything.
  elements_ = kElements;
  fill();
  return false;
}

std::optional<Exception> Application::try_restore(const char* region, const Asked& asked, Restored& seen) {
  return call([&] {
    const auto report = region != nullptr    ? session_.restore(region)
                        : asked.version != 0 ? session_.restore(asked.version)
                                             : session_.restore();
    // Of one region: all others are made to fit it.
    if (region != nullptr && report.restored && !state_.empty()) {
      stamp_ = static_cast<std::uint64_t>(state_.front() / 1e6);
      elements_ = state_.size() - session_.rank();
    }
    seen = {!report.restored, report.version, stamp_, report.restored && report.old_ranks != session_.size()};
    old_ranks_ = report.old_ranks;
  });
}

void Application::look_at(const Restored& seen, std::uint64_t stamp_before) {
  if (seen.fresh && stamp_ != stamp_before) notes_.is_wrong("a fresh start changed the state");
  if (seen.fresh) return;
  // As many ranks exchange elements if they have other parts of the array.
  const bool own = !seen.of_other_ranks && state_ == expected();
  const bool cut = life_.elastic && !own && state_ == expected_of(old_ranks_);
  if ((!own && !cut) || grid_ != expected_grid())
    notes_.is_wrong(fmt::format("rank {}: version {} came back with other bytes", session_.rank(), seen.version));
  state_ = expected();
}

void Application::leave_out_a_snapshot() {
  if (!is_odd()) snapshot(std::nullopt);
}

// Those who ask hear that one did not. What they have is undefined then.
void Application::leave_out_a_restore() {
  if (session_.size() == 1 || is_odd()) return;
  has_begun_ = true;
  Restored seen;
  undefined_ = true;
  if (!try_restore(nullptr, {}, seen)) notes_.is_wrong("a restore that one rank left out went well");
}

void Application::drop() {
  ways_.drop();
  gone_ = true;
}

// Snapshots in which one rank takes no part any more: they may fail, and must not hang.
void Application::go_on_without_one() {
  for (std::size_t i = 0; i < life_.events.size() % 3; ++i) {
    snapshot(std::nullopt);
    call([&] { session_.wait(LevelId::local); });
    ++next_stamp_;
  }
  finalize();
}

void Application::finalize() {
  const bool of_nothing = has_nothing_to_end();
  if (!of_nothing) notes_.finalizes();
  ways_.about_to_finalize();
  if (ways_.run_finalizes) return;
  const auto error = call([&] { session_.finalize(); });
  const bool uneven = life_.end == Life::End::one_left_out_a_snapshot;
  // That what was restored before could not be made safe at a level again is told, whatever is to end.
  const bool of_before = error && std::ranges::any_of(std::array{"L2", "L3", "L4"}, [&](const char* level) {
                           return test::has_thing(error->what(), level);
                         });
  if (well_meant_ && of_nothing && !uneven && error && !of_before)
    notes_.is_wrong(std::string("nothing was to end, but: ") + error->what());
  if (life_.end == Life::End::one_drops && session_.size() > 1 && !of_nothing && !error)
    notes_.is_wrong("finalize() went well without a rank");
  notes_.has_finalized(of_nothing ? Ending::of_nothing : error ? Ending::failed : Ending::well);
}

void Application::note_what_is_safe() {
  for (std::uint32_t level = 1; level <= 4 && !gone_; ++level)
    call([&] { notes_.is_safe(level, session_.safe_version(static_cast<LevelId>(level))); });
}

}  // namespace cairn::torture
