#include "stay_process.hpp"

#include <exception>
#include <utility>

#include "logged/helper_group.hpp"
#include "session/exception.hpp"
#include "support/log_messages.hpp"

namespace cairn::test {

// A session of an application rank, and what carries its messages.
struct StayProcess::Opened {
  std::unique_ptr<JobSession> session;
  std::unique_ptr<StayCarrier> carrier;

  [[nodiscard]] SessionImpl& impl() const { return session->impl(); }
};

namespace {

class CountingHelpers final : public rollback::Helpers {
 public:
  CountingHelpers(Setting setting, std::uint32_t& recomputed) : group_(std::move(setting)), recomputed_(recomputed) {}
  [[nodiscard]] Result<std::vector<replay::PartResult>> recompute(const replay::LostSteps& steps,
                                                                  const SplitState& split) override {
    auto parts = group_.recompute(steps, split);
    if (parts) ++recomputed_;
    return parts;
  }
  void help() override { group_.help(); }

 private:
  rollback::HelperGroup group_;
  std::uint32_t& recomputed_;
};

}  // namespace

StayProcess::StayProcess(const Job& job, StayPool::Process number, std::uint64_t death) : job_(job), number_(number) {
  plan_->first_failing = death;
  plan_->on_first_failure = [this] {
    if (job_.on_death) job_.on_death();
    job_.pool.dies(number_);
  };
}

StayProcess::~StayProcess() = default;

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
  opened_.reset();
  helpers_.reset();
  comm_.reset();
  if (!over_) job_.pool.has_ended(number_);
}

// From one meeting to the next, or a rank to the next in which it opens another session.
void StayProcess::live(const Application& application) {
  find_place();
  if (place_.member.role == Member::Role::spare) {
    job_.pool.wait_as_spare(helpers_ ? [this] { helpers_->help(); } : std::function<void()>());
    if (has_died()) throw Died();
    return repairs_.meet();
  }
  try {
    open();
  } catch (const Exception& error) {
    if (has_died()) throw Died();
    repairs_.cannot_go_on({error.what(), rollback::Obstacle::Weight::known});
    alarm();
  }
  if (opened_) return play(application);
  if (has_died()) throw Died();
  repairs_.meet();
}

void StayProcess::find_place() {
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
      .repairs = &repairs_,
      .logs_messages = log_messages()};
  environment.look_at_host = [] { return HostState{}; };
  return environment;
}

void StayProcess::open() {
  repairs_.opens();
  auto impl = value_or_throw(SessionImpl::open(environment()));
  if (!impl) return;
  auto opened = std::make_unique<Opened>();
  opened->session = std::make_unique<JobSession>(std::move(impl), *place_.world);
  const bool replaces = opened->impl().logged()->replaces();
  opened->carrier =
      std::make_unique<StayCarrier>(StayCarrier::Setting{.session = opened->impl(),
                                                         .network = job_.network,
                                                         .is_troubled = [this] { return is_alarmed(); },
                                                         .stays = [this] { return repairs_.stays(); },
                                                         .limit = job_.config.recovery.limit,
                                                         .cut = [this] { alarm(); },
                                                         .begins = [this](const auto& what) { begins(what); },
                                                         .seed = job_.seed * 1000 + number_});
  if (replaces) {
    if (const auto taken = opened->impl().logged()->settle_prologue(); !taken)
      throw Exception(ErrorKind::rollback, taken.error().text());
  }
  opened_ = std::move(opened);
}

void StayProcess::play(const Application& application) {
  bool rolls_back = false;
  try {
    application(*opened_->session, *opened_->carrier);
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
  if (rolls_back) {
    under_way_ = under_way_ || opened_->impl().is_under_way();
    return leave();
  }
  complete();
}

// As Resilient::complete().
void StayProcess::complete() {
  under_way_ = true;
  if (!repairs_.all_finished()) return leave();
  done_ = true;
  try {
    opened_->session->finalize();
  } catch (const Exception& error) {
    const bool is_failure = error.kind() == ErrorKind::rollback || error.kind() == ErrorKind::communication;
    if (!is_failure && !is_alarmed()) error_ = error.what();
  }
  repairs_.vote_over(true);
  opened_.reset();
  if (has_died()) throw Died();
  alarm();
  repairs_.meet();
}

void StayProcess::leave() {
  repairs_.leaves();
  opened_.reset();
  repairs_.rolls_back();
}

bool StayProcess::vote(bool ok, const std::function<void()>& meanwhile) {
  begins("a vote");
  const bool all = job_.pool.all_ranks(number_, ok, meanwhile);
  if (std::exchange(has_joined_, false) && all) job_.on_stayed(place_.member.rank);
  return all;
}

bool StayProcess::meet(const rollback::Vote& vote) {
  begins("a meeting");
  if (!vote.obstacle.text.empty()) obstacle_ = vote.obstacle.text;
  over_ =
      job_.pool.meet(number_, {.done = done_, .under_way = under_way_, .rollback = vote}) == StayPool::Outcome::over;
  if (over_) return false;
  form_helper_team();
  return job_.pool.place(number_).all_stay;
}

void StayProcess::tell_of_failure() {
  if (has_died()) throw Died();
  if (job_.seed % 2 == 0) throw Exception(ErrorKind::rollback, "a process died");
}

rollback::LoggedRank* StayProcess::rank() { return opened_ ? opened_->impl().logged() : nullptr; }

bool StayProcess::leave_world() {
  begins("a repair");
  under_way_ = true;
  opened_->carrier->harvest();
  opened_->impl().disconnect();
  comm_.reset();
  return true;
}

// As Session::Mpi::enter_world().
Status StayProcess::join_world() {
  find_place();
  has_joined_ = true;
  return opened_->impl().reconnect(environment());
}

Status StayProcess::settle_offer() { return opened_->impl().restore_lost(); }

void StayProcess::go_on() { opened_->carrier->goes_on(); }

Status StayProcess::check_messages() { return opened_->impl().check_messages(); }

// As in repair/resilient_help.
void StayProcess::form_helper_team() {
  helpers_.reset();
  const auto team = job_.pool.helpers(number_);
  if (!team) return;
  helpers_ = std::make_unique<CountingHelpers>(
      rollback::Helpers::Setting{
          .comm = std::make_unique<FaultyComm>(team->world->member(team->me), plan_),
          .is_gone = [this, team](std::uint32_t member) { return job_.pool.is_dying(team->processes.at(member)); },
          .limit = job_.config.recovery.limit,
          .compute = job_.compute_part,
          .me = "a process",
          .log = Log::silent()},
      recomputed_);
}

}  // namespace cairn::test
