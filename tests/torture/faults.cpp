#include "torture/faults.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "store/names.hpp"
#include "support/faulty_store.hpp"
#include "support/hooked_store.hpp"

namespace cairn::torture {
namespace {

using Kind = Fault::Kind;
using Wrap = std::function<std::shared_ptr<Store>(std::shared_ptr<Store>)>;

bool kills(Kind kind) {
  return kind == Kind::message_kills || kind == Kind::operation_kills || kind == Kind::read_kills;
}
bool is_of_reads(Kind kind) { return kind == Kind::read_once || kind == Kind::reads || kind == Kind::read_kills; }

// Whether a rank has called finalize, and what is to be done when the first one does.
struct Finalizing {
  std::atomic<bool> begun = false;
  std::vector<std::function<void()>> then;
};
using SharedFinalizing = std::shared_ptr<Finalizing>;

// Numbers the operations that count for a fault; none: this one does not.
class Count {
 public:
  Count(const Fault& fault, SharedFinalizing finalizing)
      : finalizing_(fault.in_finalize ? std::move(finalizing) : nullptr) {}
  std::optional<std::uint64_t> next() const {
    if (finalizing_ && !finalizing_->begun) return {};
    return (*operations_)++;
  }

 private:
  SharedFinalizing finalizing_;
  std::shared_ptr<std::atomic<std::uint64_t>> operations_ = std::make_shared<std::atomic<std::uint64_t>>(0);
};

void arm(const Fault& fault, test::FaultPlan& plan) {
  switch (fault.kind) {
    case Kind::operation_once: return plan.fail_once_at(fault.at);
    case Kind::store_full: plan.inject_code(Code::no_space); return plan.crash_at(fault.at, false);
    case Kind::operations: return plan.crash_at(fault.at, false);
    case Kind::flipped_reads: return plan.flip_bits_on_read(fault.at, fault.at);
    default: return plan.crash_at(fault.at, true);
  }
}

// Fails operations, or flips what is read.
Wrap by_plan(const Fault& fault, std::function<void()> kill, const SharedFinalizing& finalizing) {
  auto plan = std::make_shared<test::FaultPlan>();
  if (kills(fault.kind)) plan->on_first_failure(std::move(kill));
  if (fault.in_finalize) {
    finalizing->then.emplace_back([plan, fault] {
      plan->heal();  // counts from here
      arm(fault, *plan);
    });
  } else {
    arm(fault, *plan);
  }
  return [plan](std::shared_ptr<Store> store) { return std::make_shared<test::FaultyStore>(std::move(store), plan); };
}

// Counts reads, and does `then` when one is to fail.
Wrap by_read(const Fault& fault, const Count& reads, const std::function<void()>& then) {
  const auto hook = [fault, reads, then](const std::string& path) -> Status {
    const auto number = reads.next();
    if (!number || (fault.kind == Kind::read_once ? number != fault.at : number < fault.at)) return {};
    if (number == fault.at) then();
    return fail(Code::io, path + ": a read failed");
  };
  return [hook](std::shared_ptr<Store> store) {
    auto hooked = std::make_shared<test::HookedStore>(std::move(store), [](const auto&) { return Status{}; });
    hooked->on_read = hook;
    return hooked;
  };
}

// Does `what` before operations; none fails.
Wrap by_operation(const Count& operations, std::function<void(std::uint64_t number)> what) {
  return [what = std::move(what), operations](std::shared_ptr<Store> store) {
    return std::make_shared<test::HookedStore>(std::move(store), [what, operations](const auto&) -> Status {
      if (const auto number = operations.next()) what(*number);
      return {};
    });
  };
}

Wrap that_removes_nothing(const Fault& fault, const Count& operations) {
  using Kind = test::HookedStore::Operation::Kind;
  const auto hook = [fault, operations](const test::HookedStore::Operation& operation) -> Status {
    const bool removes = operation.kind == Kind::retire || operation.kind == Kind::remove ||
                         operation.kind == Kind::remove_directory || operation.kind == Kind::clean;
    const auto number = operations.next();
    if (!number || *number < fault.at || !removes) return {};
    return fail(Code::io, operation.path + ": nothing can be removed");
  };
  return [hook](std::shared_ptr<Store> store) { return std::make_shared<test::HookedStore>(std::move(store), hook); };
}

MemoryStore& store_of(const Fault& fault, test::Job& job) {
  return fault.host ? job.node_store(*fault.host) : job.global_store();
}

// Takes away all files of a version that is complete there, of two times once the newest; none: there is no version.
std::optional<std::uint32_t> rob(MemoryStore& store, std::uint64_t pick) {
  std::vector<std::pair<std::uint32_t, std::string>> versions;
  for (const Entry& entry : store.list(DirName{}).value_or(std::vector<Entry>{})) {
    const auto dir = names::parse_snapshot(entry.name);
    if (dir && store.open(names::manifest(DirName{entry.name}))) versions.emplace_back(dir->version.value, entry.name);
  }
  if (versions.empty()) return {};
  std::ranges::sort(versions);
  const auto& [version, dir] = pick % 2 == 0 ? versions.back() : versions[pick / 2 % versions.size()];
  if (!store.remove_directory(DirName{dir})) return {};
  return version;
}

Wrap wrap_of(const Fault& fault, test::Job& job, const Lost& lost, const SharedFinalizing& finalizing) {
  const auto kill = [&job] { job.message_faults->on_first_failure(); };
  const Count count(fault, finalizing);
  if (is_of_reads(fault.kind)) return by_read(fault, count, kills(fault.kind) ? kill : std::function<void()>([] {}));
  if (fault.kind == Kind::slow) {
    // Now and then, so that others overtake it here and there.
    return by_operation(count, [](std::uint64_t number) {
      if (number % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  }
  if (fault.kind == Kind::wiped) {
    return by_operation(count, [fault, &job, lost](std::uint64_t number) {
      if (number != fault.at) return;
      store_of(fault, job).wipe();
      lost(fault.host, std::nullopt);
    });
  }
  if (fault.kind == Kind::robbed) {
    return by_operation(count, [fault, &job, lost](std::uint64_t number) {
      if (number != fault.at) return;
      if (const auto version = rob(store_of(fault, job), fault.at)) lost(fault.host, version);
    });
  }
  if (fault.kind == Kind::stuck) return that_removes_nothing(fault, count);
  return by_plan(fault, kill, finalizing);
}

}  // namespace

std::function<void()> inject(const Life& life, test::Job& job, Lost lost) {
  const auto finalizing = std::make_shared<Finalizing>();
  // Nothing fails of itself, but stores use it to kill the job.
  job.message_faults = std::make_shared<test::CommFaultPlan>();
  std::vector<std::pair<std::optional<std::uint32_t>, Wrap>> wraps;
  for (const Fault& fault : life.faults) {
    if (fault.kind == Kind::message_kills) {
      job.message_faults->first_failing = std::min(job.message_faults->first_failing, fault.at);
    } else {
      wraps.emplace_back(fault.host, wrap_of(fault, job, lost, finalizing));
    }
  }
  const auto wrap = [wraps](std::optional<std::uint32_t> host, std::shared_ptr<Store> store) {
    for (const auto& [of, fault] : wraps) {
      if (of == host) store = fault(std::move(store));
    }
    return store;
  };
  job.wrap_node = [wrap](std::uint32_t host, std::shared_ptr<Store> store) { return wrap(host, std::move(store)); };
  job.wrap_global = [wrap](std::shared_ptr<Store> store) { return wrap(std::nullopt, std::move(store)); };
  return [finalizing] {
    if (finalizing->begun.exchange(true)) return;
    for (const auto& then : finalizing->then) then();
  };
}

Circumstances::Faults effect_of(const Life& life) {
  using Faults = Circumstances::Faults;
  const auto harms = [](const Fault& fault) { return !kills(fault.kind) && fault.kind != Kind::slow; };
  if (std::ranges::any_of(life.faults, harms)) return Faults::of_stores;
  const bool dies = std::ranges::any_of(life.faults, [](const Fault& fault) { return kills(fault.kind); });
  return dies || life.clock || calls_may_fail(life) ? Faults::of_calls : Faults::none;
}

bool all_is_read_in(const Life& life) {
  constexpr Kind kOthers[] = {Kind::store_gone,    Kind::read_once, Kind::reads,
                              Kind::flipped_reads, Kind::wiped,     Kind::robbed};
  return std::ranges::none_of(
      life.faults, [&](const Fault& fault) { return std::ranges::find(kOthers, fault.kind) != std::end(kOthers); });
}

bool may_refuse_removal(const Life& life, std::uint32_t host) {
  constexpr Kind kRefusals[] = {Kind::operation_once, Kind::operations, Kind::store_full, Kind::stuck};
  return std::ranges::any_of(life.faults, [&](const Fault& fault) {
    return fault.host == host && std::ranges::find(kRefusals, fault.kind) != std::end(kRefusals);
  });
}

std::set<std::optional<std::uint32_t>> shaky_in(const Life& life) {
  std::set<std::optional<std::uint32_t>> shaky;
  if (life.clock || calls_may_fail(life)) return shaky;
  for (const Fault& fault : life.faults) {
    if (fault.kind == Kind::slow) continue;
    if (fault.kind != Kind::read_once) return {};
    shaky.insert(fault.host);
  }
  return shaky;
}

}  // namespace cairn::torture
