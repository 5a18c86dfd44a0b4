#include "stay_process.hpp"

#include <exception>
#include <utility>

#include "rollback/part_computer.hpp"
#include "session/exception.hpp"

namespace cairn::test {

// A session of an application rank, and what carries its messages.
struct StayProcess::Opened {
  std::unique_ptr<JobSession> session;
  std::unique_ptr<StayCarrier> carrier;

  [[nodiscard]] SessionImpl& impl() const { return session->impl(); }
};

StayProcess::StayProcess(const Job& job, StayPool::Process number, std::uint64_t death) : job_(job), number_(number) {
  plan_->first_failing = death;
  plan_->on_first_failure = [this] {
    if (job_.on_death) job_.on_death();
    job_.pool.dies(number_);
  };
}

void StayProcess::begins(const std::string& operation) {
  job_.on_begin(number_, ++begun_);
  if (!plan_->next(operation) || has_died()) throw Died();
}

void StayProcess::strike() {
  if (!plan_->failing.exchange(true)) plan_->on_first_failure();
}

void StayProcess::run(const Application& application) {
  try {
    while (!over_) live(application);
  } catch (const Died&) {
  } catch (const std::exception& error) {
    error_ = error.what();
    job_.pool.dies(number_);
  }
  helpers_.reset();
  helper_comm_.reset();
  comm_.reset();
  if (!over_) job_.pool.has_ended(number_);
}

// From one meeting to the next, or a rank to the next in which it opens another session.
void StayProcess::live(const Application& application) {
  join_world();
  if (place_.member.role == Member::Role::spare) {
    job_.pool.wait_as_spare(helpers_ ? [this] { help(); } : std::function<void()>());
    if (has_died()) throw Died();
    return meet();
  }
  std::unique_ptr<Opened> opened;
  try {
    left_ = Left::no;
    opened = open();
  } catch (const Exception& error) {
    if (has_died()) throw Died();
    obstacle_ = error.what();
    job_.pool.cut();
  }
  if (opened) return play(std::move(opened), application);
  if (has_died()) throw Died();
  if (place_.member.role == Member::Role::rank) (void)all_ranks(false);
  meet();
}

void StayProcess::join_world() {
  place_ = job_.pool.place(number_);
  comm_.reset();
  if (place_.member.role != Member::Role::spare)
    comm_ = std::make_unique<FaultyComm>(place_.world->member(place_.peer), plan_);
}

Environment StayProcess::environment() {
  RepairedWorld world{job_.config, place_.seats};
  if (place_.under_way) world.config.restart.mode = Config::Restart::Mode::automatic;
  Environment environment{
      .world = *comm_,
      .host = "host",
      .config_file = {},
      .open_local = [this](const Config&, const Topology& topology, NodeId node) -> Result<std::shared_ptr<Store>> {
        const std::string& name = topology.nodes.at(node.value).name;
        return std::shared_ptr<Store>(job_.stores.at(std::stoul(name.substr(4))));
      },
      .open_global = [this](const Config&) -> Result<std::shared_ptr<Store>> { return job_.global; },
      .threads_may_communicate = true,
      .failures = {place_.dead_ranks, {}},
      .clock = [number = number_] { return real_time(number); },
      .memory = memory_,
      .repaired = std::move(world),
      .only_lost_go_back = place_.repairs > 0 && place_.all_stay};
  environment.look_at_host = [] { return HostState{}; };
  return environment;
}

std::unique_ptr<StayProcess::Opened> StayProcess::open() {
  auto impl = value_or_throw(SessionImpl::open(environment()));
  if (!impl) return nullptr;
  auto opened = std::make_unique<Opened>();
  opened->session = std::make_unique<JobSession>(std::move(impl), *place_.world);
  Opened* const it = opened.get();
  const bool replaces = place_.repairs > 0 && place_.all_stay;
  opened->carrier =
      std::make_unique<StayCarrier>(StayCarrier::Setting{.session = opened->impl(),
                                                         .network = job_.network,
                                                         .is_troubled = [this] { return job_.pool.is_troubled(); },
                                                         .stays = [this, it] { return stays(*it); },
                                                         .cut = [this] { job_.pool.cut(); },
                                                         .begins = [this](const auto& what) { begins(what); },
                                                         .replaces = replaces,
                                                         .seed = job_.seed * 1000 + number_});
  opened->impl().logged()->use_hooks({.stays = [this, it] { return stays(*it); },
                                      .settled = [this](bool ok) { return settled(ok); },
                                      .recompute = recompute(),
                                      .at_restore = {},
                                      .at_safe_point = {}});
  if (replaces) {
    if (const auto taken = opened->impl().logged()->settle_prologue(); !taken)
      throw Exception(ErrorKind::rollback, taken.error().text());
  }
  return opened;
}

void StayProcess::play(std::unique_ptr<Opened> opened, const Application& application) {
  bool rolls_back = false;
  try {
    application(*opened->session, *opened->carrier);
    ended_at_ = plan_->operations;
  } catch (const Exception& error) {
    rolls_back = true;
    if (error.kind() != ErrorKind::rollback) error_ = error.what();
  } catch (const std::exception& error) {
    rolls_back = true;
    error_ = error.what();
  }
  if (has_died()) throw Died();
  if (error_) done_ = true;  // the job ends
  if (rolls_back) return roll_back(std::move(opened));
  complete(*opened);
  opened.reset();
  if (has_died()) throw Died();
  if (done_) job_.pool.cut();
  vote_and_meet();
}

// As Resilient::complete().
void StayProcess::complete(Opened& opened) {
  under_way_ = true;
  if (!all_finished(opened)) {
    if (left_ != Left::met) job_.pool.cut();
    return;
  }
  done_ = true;
  try {
    opened.session->finalize();
  } catch (const Exception& error) {
    const bool is_failure = error.kind() == ErrorKind::rollback || error.kind() == ErrorKind::communication;
    if (!is_failure && !job_.pool.is_troubled()) error_ = error.what();
  }
  (void)all_ranks(true);
  left_ = Left::voted;
}

// As Resilient::impatience().
std::function<void()> StayProcess::impatience(Opened& opened) {
  if (!opened.impl().logged()->is_unchecked()) return {};
  const auto wait = std::make_shared<replay::LongWait>(opened.impl().logged()->begin_wait());
  return [this, &opened, wait] {
    if (job_.pool.is_troubled()) return;
    const auto verdict = wait->look([] { return replay::DeadlockCheck::Needs{}; });
    if (verdict == replay::LongWait::Verdict::goes_on) return;
    opened.impl().obstruct(wait->text(verdict, "finalize()"), replay::Journal::Until::next_snapshot);
    job_.pool.cut();
  };
}

bool StayProcess::all_finished(Opened& opened) {
  const auto messages_match = [&] {
    try {
      return opened.impl().check_messages().has_value();
    } catch (const Exception&) {
      return false;
    }
  };
  while (true) {
    if (opened.impl().logged()->replaces()) job_.pool.cut();
    bool all = all_ranks(!job_.pool.is_troubled(), impatience(opened));
    if (all && opened.impl().logged()->is_unchecked()) all = all_ranks(messages_match());
    if (all) return true;
    left_ = Left::voted;
    if (!stay(opened)) return false;
  }
}

void StayProcess::roll_back(std::unique_ptr<Opened> opened) {
  under_way_ = under_way_ || opened->impl().is_under_way();
  if (left_ != Left::met) job_.pool.cut();
  opened.reset();
  vote_and_meet();
}

void StayProcess::vote_and_meet() {
  const Left left = std::exchange(left_, Left::no);
  if (left == Left::met) return;
  if (left == Left::no) (void)all_ranks(false);
  meet();
}

bool StayProcess::stays(Opened& opened) {
  if (has_died()) throw Died();
  if (stay(opened)) return true;
  if (job_.seed % 2 == 0) throw Exception(ErrorKind::rollback, "a process died");
  return false;
}

// As Resilient::stay().
bool StayProcess::stay(Opened& opened) {
  if (left_ == Left::met) return false;
  begins("a repair");
  job_.pool.cut();
  if (const auto why = opened.impl().logged()->why_all_roll_back()) {
    obstacle_ = *why;
    return false;
  }
  under_way_ = true;
  opened.carrier->harvest();
  opened.impl().disconnect();
  comm_.reset();
  if (left_ == Left::no) (void)all_ranks(false);
  presence_.can_stay = true;
  if (!opened.impl().logged()->is_unchecked()) presence_.have_caught_up = true;
  left_ = Left::met;
  meet();
  if (!job_.pool.place(number_).all_stay) return false;
  left_ = Left::no;
  const Status joined = enter_world(opened);
  if (has_died()) throw Died();
  if (!joined) {
    obstacle_ = joined.error().text();
    job_.pool.cut();
  }
  const bool all = settled(joined.has_value());
  if (all) job_.on_stayed(place_.member.rank);
  return all;
}

// As Session::Mpi::enter_world().
Status StayProcess::enter_world(Opened& opened) {
  join_world();
  if (auto status = opened.impl().reconnect(environment()); !status) return status;
  if (auto shipped = opened.impl().logged()->settle_prologue(); !shipped) return shipped;
  auto again = opened.impl().restore_lost();
  if (!again) return fail(again.error());
  opened.carrier->goes_on(std::move(*again));
  return {};
}

bool StayProcess::all_ranks(bool ok, const std::function<void()>& meanwhile) {
  begins("a vote");
  return job_.pool.all_ranks(number_, ok, meanwhile);
}

bool StayProcess::settled(bool ok) {
  if (all_ranks(ok)) return true;
  left_ = Left::voted;
  return false;
}

void StayProcess::meet() {
  begins("a meeting");
  StayPool::Presence presence = std::exchange(presence_, {});
  presence.done = done_;
  presence.under_way = under_way_;
  over_ = job_.pool.meet(number_, presence) == StayPool::Outcome::over;
  if (!over_) form_helper_team();
}

// As in repair/resilient_help.
void StayProcess::form_helper_team() {
  helpers_.reset();
  helper_comm_.reset();
  const auto team = job_.pool.helpers(number_);
  if (!team) return;
  helper_comm_ = std::make_unique<FaultyComm>(team->world->member(team->me), plan_);
  helpers_ = std::make_unique<replay::HelperTeam>(replay::HelperTeam::Setting{
      .comm = *helper_comm_,
      .is_gone = [this, team](std::uint32_t member) { return job_.pool.is_dying(team->processes.at(member)); },
      .limit = job_.config.recovery.limit});
}

void StayProcess::help() { (void)helpers_->help(computer_of(job_.compute_part)); }

decltype(MessageHooks::recompute) StayProcess::recompute() {
  if (!helpers_) return {};
  return [this](const replay::LostSteps& steps, const replay::HelperTeam::Split& split) {
    auto parts = helpers_->recompute(steps, split, computer_of(job_.compute_part));
    if (parts) ++recomputed_;
    return parts;
  };
}

}  // namespace cairn::test
