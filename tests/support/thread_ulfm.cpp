#include "support/thread_ulfm.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"

namespace cairn::test {
namespace {

using Process = ThreadJob::Process;

constexpr std::chrono::milliseconds kBetweenLooks{1};
constexpr std::uint64_t kMostLooks = 4;  // until a process knows of a death

// Leaves the program of a process in a job that has failed.
struct JobFailed {};

}  // namespace

// A call of a communicator, as far as its members have come.
struct ThreadJob::Call {
  std::string name;
  std::map<Process, Buffer> given;  // by those that have come
  std::optional<Agreed> agreed;     // of an agreement, and of grow(): whether it has succeeded
  std::shared_ptr<Group> made;
};

struct ThreadJob::Group {
  std::uint32_t number = 0;
  std::vector<Process> members;
  bool revoked = false;
  std::map<std::uint64_t, Call> collectives;
  std::map<std::uint64_t, Call> agreements;
  Call joining;                                   // of the newcomers that it was made for
  std::set<std::pair<Process, Process>> notices;  // from, to
};

class ThreadUlfmComm final : public UlfmComm {
 public:
  using Group = ThreadJob::Group;
  using Call = ThreadJob::Call;
  using Lock = ThreadJob::Lock;
  ThreadUlfmComm(ThreadJob& job, Process me, std::shared_ptr<Group> group)
      : job_(job),
        me_(me),
        group_(std::move(group)),
        rank_(static_cast<std::uint32_t>(std::ranges::find(group_->members, me) - group_->members.begin())) {}

  static std::shared_ptr<Group> make_group(ThreadJob& job, std::vector<Process> members) {
    auto group = std::make_shared<Group>();
    group->number = ++job.groups_;
    group->members = std::move(members);
    return group;
  }

  [[nodiscard]] std::uint32_t rank() const override { return rank_; }
  [[nodiscard]] std::uint32_t size() const override { return static_cast<std::uint32_t>(group_->members.size()); }

  void let_news_come() override {
    const Lock lock(job_.mutex_);
    job_.die_if_killed(me_);
  }
  void wait_for_news() override { let_news_come(); }

  [[nodiscard]] std::vector<std::uint32_t> failed_members() const override {
    const Lock lock(job_.mutex_);
    job_.die_if_killed(me_);
    std::vector<std::uint32_t> failed;
    for (std::uint32_t i = 0; i < size(); ++i) {
      if (job_.knows(me_, group_->members[i])) failed.push_back(i);
    }
    return failed;
  }
  [[nodiscard]] bool is_revoked() const override {
    const Lock lock(job_.mutex_);
    job_.die_if_killed(me_);
    return group_->revoked;
  }
  void revoke() override {
    const Lock lock(job_.mutex_);
    job_.step(me_);
    group_->revoked = true;
    job_.changed_.notify_all();
  }
  void notify(std::uint32_t member) override {
    const Lock lock(job_.mutex_);
    job_.step(me_);
    group_->notices.emplace(me_, group_->members[member]);
  }
  [[nodiscard]] bool receive_notice(std::uint32_t from) override {
    const Lock lock(job_.mutex_);
    job_.die_if_killed(me_);
    return group_->notices.erase({group_->members[from], me_}) > 0;
  }

  [[nodiscard]] Result<Agreed> agree(int word, const Meanwhile& meanwhile) override {
    Lock lock(job_.mutex_);
    Call& call = come(group_->agreements[agreements_++], "agree");
    ByteWriter given;
    given.put(word);
    call.given[me_] = given.take();
    job_.changed_.notify_all();
    job_.step(me_);
    Result<std::optional<int>> known = std::optional<int>();
    const auto go_on = [&] {
      known = meanwhile();
      return known && !*known;
    };
    const bool may_be_lost = meanwhile && job_.loses_agreements_;
    const auto is_lost = [&] { return may_be_lost && !call.agreed->all_live && is_last(); };
    job_.wait(
        lock, me_, [&] { return is_settled(call) && !is_lost(); }, meanwhile ? go_on : std::function<bool()>());
    if (!known) return fail(known.error());
    if (*known) return Agreed{**known, false};
    return *call.agreed;
  }

  [[nodiscard]] Result<Ptr> shrink() override {
    Lock lock(job_.mutex_);
    Call& call = come(group_->agreements[agreements_++], "shrink");
    call.given[me_];
    job_.changed_.notify_all();
    job_.step(me_);
    job_.wait(lock, me_, [&] { return is_settled(call); });
    return mine_of(call);
  }

  [[nodiscard]] Status gather(Bytes mine, MutableBytes all) override {
    check(all.size() == mine.size() * size());
    Lock lock(job_.mutex_);
    Call& call = begin("gather", Buffer(mine.begin(), mine.end()));
    if (auto status = finish(lock, call, group_->members); !status) return status;
    auto to = all.begin();
    for (const Process member : group_->members) to = std::ranges::copy(call.given.at(member), to).out;
    return {};
  }

  [[nodiscard]] Result<Buffer> broadcast(Bytes mine) override {
    Lock lock(job_.mutex_);
    Call& call = begin("broadcast", Buffer(mine.begin(), mine.end()));
    const Process root = group_->members.front();
    if (auto status = finish(lock, call, {root}); !status) return fail(status.error());
    return call.given.at(root);
  }

  [[nodiscard]] Result<Ptr> split(bool in, std::uint32_t key) override {
    Lock lock(job_.mutex_);
    ByteWriter given;
    given.put(in);
    given.put(key);
    Call& call = begin("split", given.take());
    if (auto status = finish(lock, call, group_->members); !status) return fail(status.error());
    if (!call.made) call.made = make_group(job_, parts_of(call));
    return mine_of(call);
  }

  // Over MPI it is a series of agreements, so its outcome is the same on all, too.
  [[nodiscard]] Result<Ptr> grow(const NewProcesses& what) override {
    Lock lock(job_.mutex_);
    const std::uint64_t number = agreements_++;
    Call& call = come(group_->agreements[number], "grow");
    call.given[me_];
    job_.changed_.notify_all();
    job_.step(me_);
    if (job_.full_hosts_.contains(what.host)) {
      job_.wait(lock, me_, [&] { return have_come(call, group_->members) || some_died(group_->members); });
      if (call.agreed = call.agreed.value_or(Agreed{1, !some_died(group_->members)}); call.agreed->all_live)
        return Ptr();
    } else {
      job_.wait(lock, me_, [&] { return have_come(call, group_->members) || some_died(group_->members); });
      if (!call.made) start(call, what, number);
      job_.wait(lock, me_, [&] { return has_grown(call); });
      if (call.agreed->all_live) return mine_of(call);
    }
    group_->revoked = true;
    job_.changed_.notify_all();
    return struck("grow");
  }

  // In newcomers. `members`: who started them, and the newcomers.
  static bool has_joined(ThreadJob& job, Process me, const std::shared_ptr<Group>& grown, Lock& lock) {
    Call& call = grown->joining;
    call.given[me];
    job.changed_.notify_all();
    job.step(me);
    job.wait(lock, me, [&] { return call.agreed.has_value(); });
    return call.agreed->all_live;
  }

 private:
  // The call that begins: all members make the same.
  Call& come(Call& call, const char* name) {
    job_.step(me_);
    if (call.name.empty()) call.name = name;
    if (call.name != name) job_.give_up(fmt::format("process {} calls {}, others {}", me_, name, call.name));
    return call;
  }
  Call& begin(const char* name, Buffer given) {
    Call& call = come(group_->collectives[collectives_++], name);
    call.given[me_] = std::move(given);
    job_.changed_.notify_all();
    job_.step(me_);
    return call;
  }

  [[nodiscard]] bool is_dead(Process process) const { return job_.is_known_to_be_dead(process); }
  [[nodiscard]] bool some_died(const std::vector<Process>& members) const {
    return std::ranges::any_of(members, [&](Process member) { return is_dead(member); });
  }
  [[nodiscard]] static bool have_come(const Call& call, const std::vector<Process>& members) {
    return std::ranges::all_of(members, [&](Process member) { return call.given.contains(member); });
  }

  // Of those that live.
  [[nodiscard]] bool is_last() const {
    const auto& members = group_->members;
    const auto later = std::ranges::find(members, me_) + 1;
    return std::all_of(later, members.end(), [&](Process member) { return is_dead(member); });
  }

  Result<Ptr> struck(const char* name) const {
    return fail(Code::communication, fmt::format("{} of process {}: a member has died", name, me_));
  }

  // Waits for what `needed` give. A call that a death or a revocation strikes fails on some members only.
  Status finish(Lock& lock, Call& call, const std::vector<Process>& needed) {
    const auto misses = [&](Process member) { return is_dead(member) && !call.given.contains(member); };
    job_.wait(lock, me_,
              [&] { return have_come(call, needed) || group_->revoked || std::ranges::any_of(needed, misses); });
    const bool is_struck = group_->revoked || some_died(group_->members);
    const bool is_lucky = job_.draw(group_->number, collectives_, me_) % 2 == 0;
    if (have_come(call, needed) && (!is_struck || is_lucky)) return {};
    return fail(struck(call.name.c_str()).error());
  }

  // Of agree() and shrink(): settled once, for all, when those that live have come.
  bool is_settled(Call& call) {
    if (call.agreed) return true;
    const auto& members = group_->members;
    if (!std::ranges::all_of(members, [&](Process one) { return is_dead(one) || call.given.contains(one); }))
      return false;
    Agreed agreed{~0, !some_died(members)};
    std::vector<Process> live;
    for (const Process member : members) {
      if (!is_dead(member)) live.push_back(member);
      if (call.name != "agree" || !call.given.contains(member)) continue;
      agreed.word &= ByteReader(call.given.at(member)).get<int>();
    }
    if (call.name == "shrink") call.made = make_group(job_, std::move(live));
    call.agreed = agreed;
    job_.changed_.notify_all();
    return true;
  }

  // By key; empty if no member is in.
  std::vector<Process> parts_of(const Call& call) const {
    std::vector<std::pair<std::uint32_t, Process>> keyed;
    for (const Process member : group_->members) {
      ByteReader given(call.given.at(member));
      const bool in = given.get<bool>();
      const auto key = given.get<std::uint32_t>();
      if (in) keyed.emplace_back(key, member);
    }
    std::ranges::stable_sort(keyed, {}, &std::pair<std::uint32_t, Process>::first);
    std::vector<Process> members;
    for (const auto& [key, member] : keyed) members.push_back(member);
    return members;
  }
  Ptr mine_of(const Call& call) const {
    if (std::ranges::find(call.made->members, me_) == call.made->members.end()) return nullptr;
    return std::make_shared<ThreadUlfmComm>(job_, me_, call.made);
  }

  void start(Call& call, const NewProcesses& what, std::uint64_t number) {
    std::vector<Process> members = group_->members;
    const auto first = static_cast<Process>(job_.threads_.size());
    for (Process i = 0; i < what.count; ++i) members.push_back(first + i);
    call.made = make_group(job_, std::move(members));
    for (Process i = 0; i < what.count; ++i) {
      job_.threads_[first + i].grown = call.made;
      job_.threads_[first + i].grown_by = number;
    }
    for (Process i = 0; i < what.count; ++i) job_.start_thread(first + i, nullptr);
  }

  // Whether all members and newcomers have come, or one has died.
  bool has_grown(Call& call) {
    Call& joining = call.made->joining;
    const std::vector<Process>& all = call.made->members;
    const std::vector<Process> newcomers(all.begin() + size(), all.end());
    if (joining.agreed) return (call.agreed = joining.agreed).has_value();
    if (!some_died(all) && !(have_come(call, group_->members) && have_come(joining, newcomers))) return false;
    call.agreed = joining.agreed = Agreed{1, !some_died(all)};
    job_.changed_.notify_all();
    return true;
  }

  ThreadJob& job_;
  Process me_;
  std::shared_ptr<Group> group_;
  std::uint32_t rank_;
  std::uint64_t collectives_ = 0;
  std::uint64_t agreements_ = 0;
};

ThreadJob::~ThreadJob() = default;

void ThreadJob::run(std::uint32_t processes, const Program& program) {
  {
    const Lock lock(mutex_);
    program_ = program;
    std::vector<Process> members;
    for (Process i = 0; i < processes; ++i) members.push_back(i);
    const auto group = ThreadUlfmComm::make_group(*this, std::move(members));
    for (Process i = 0; i < processes; ++i) threads_[i];
    for (Process i = 0; i < processes; ++i) start_thread(i, std::make_shared<ThreadUlfmComm>(*this, i, group));
  }
  Lock lock(mutex_);
  changed_.wait(lock, [&] { return running_ == 0; });
  auto ended = std::move(running_threads_);
  lock.unlock();
  ended.clear();
}

void ThreadJob::start_thread(Process process, UlfmComm::Ptr comm) {
  ++running_;
  running_threads_.emplace_back([this, process, comm = std::move(comm)] {
    try {
      program_(process, comm);
    } catch (const Death&) {
    } catch (const JobFailed&) {
    }
    const Lock lock(mutex_);
    // One that has ended well is no longer there for the others, either.
    threads_.at(process).dead = true;
    --running_;
    changed_.notify_all();
  });
}

void ThreadJob::count_operations(Process me) {
  Lock lock(mutex_);
  threads_.at(me).counts = true;
  changed_.notify_all();
  wait(lock, me, [this] {
    return std::ranges::all_of(threads_, [](const auto& one) { return one.second.grown || one.second.counts; });
  });
}

void ThreadJob::block(Process me) {
  Lock lock(mutex_);
  wait(lock, me, [] { return false; });
}

UlfmComm::Ptr ThreadJob::join(Process me) {
  Lock lock(mutex_);
  step(me);
  const auto grown = threads_.at(me).grown;
  if (!ThreadUlfmComm::has_joined(*this, me, grown, lock)) die(me);
  return std::make_shared<ThreadUlfmComm>(*this, me, grown);
}

void ThreadJob::kill(Process process) {
  const Lock lock(mutex_);
  threads_.at(process).killed = true;
  changed_.notify_all();
}

bool ThreadJob::is_dead(Process process) const {
  const Lock lock(mutex_);
  return threads_.at(process).dead;
}

std::set<Process> ThreadJob::dead() const {
  const Lock lock(mutex_);
  std::set<Process> dead;
  for (const auto& [process, thread] : threads_) {
    if (thread.dead) dead.insert(process);
  }
  return dead;
}

std::uint64_t ThreadJob::operations(Process process) const {
  const Lock lock(mutex_);
  const auto found = threads_.find(process);
  return found == threads_.end() ? 0 : found->second.operations;
}

std::uint32_t ThreadJob::processes() const {
  const Lock lock(mutex_);
  return static_cast<std::uint32_t>(threads_.size());
}

std::string ThreadJob::trouble() const {
  const Lock lock(mutex_);
  return trouble_;
}

void ThreadJob::step(Process me) {
  die_if_killed(me);
  Thread& thread = threads_.at(me);
  if (!thread.counts) return;
  const auto death = deaths_.find(me);
  if (++thread.operations; death != deaths_.end() && thread.operations == death->second) die(me);
}

void ThreadJob::die_if_killed(Process me) {
  if (!trouble_.empty()) throw JobFailed{};
  if (threads_.at(me).killed) die(me);
}

void ThreadJob::die(Process me) {
  threads_.at(me).dead = true;
  changed_.notify_all();
  throw Death{};
}

void ThreadJob::wait(Lock& lock, Process me, const std::function<bool()>& done,
                     const std::function<bool()>& meanwhile) {
  // By the system clock, as in MemoryStore.
  const auto deadline = std::chrono::system_clock::now() + limit_;
  while (!done()) {
    die_if_killed(me);
    if (meanwhile) {
      lock.unlock();
      const bool goes_on = meanwhile();
      lock.lock();
      if (!goes_on) return;
      if (!done()) changed_.wait_until(lock, std::chrono::system_clock::now() + kBetweenLooks);
    } else {
      changed_.wait_until(lock, deadline);
    }
    if (std::chrono::system_clock::now() >= deadline && !done()) give_up(fmt::format("process {} waits too long", me));
  }
}

void ThreadJob::give_up(const std::string& why) {
  if (trouble_.empty()) trouble_ = why;
  changed_.notify_all();
  throw JobFailed{};
}

std::uint64_t ThreadJob::draw(std::uint64_t a, std::uint64_t b, std::uint64_t c) const {
  std::uint64_t drawn = seed_;
  for (const std::uint64_t part : {a, b, c}) {
    drawn = (drawn ^ part) * 0x9e3779b97f4a7c15U;
    drawn ^= drawn >> 29U;
  }
  return drawn;
}

bool ThreadJob::is_known_to_be_dead(Process process) const {
  return threads_.at(process).dead && !hidden_.contains(process);
}

bool ThreadJob::knows(Process observer, Process dead) {
  if (!is_known_to_be_dead(dead)) return false;
  return ++threads_.at(observer).looks[dead] > draw(observer, dead, 1) % kMostLooks;
}

}  // namespace cairn::test
