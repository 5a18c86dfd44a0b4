#include "torture/player.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include "support/faulty_store.hpp"
#include "support/hooked_store.hpp"
#include "support/job.hpp"
#include "support/store_image.hpp"
#include "torture/model.hpp"

namespace cairn::torture {
namespace {

using test::Job;
using test::JobSession;

// What all ranks of a life have seen, as they go.
class Ledger {
 public:
  explicit Ledger(Model& model) : model_(model) {}

  void tries(std::uint64_t stamp) {
    with([&] { model_.tries(stamp); });
  }
  void takes(std::uint32_t version, std::uint64_t stamp) {
    with([&] { model_.takes(version, stamp); });
  }
  void is_safe(std::uint32_t level, std::uint32_t version) {
    with([&] { model_.is_safe(level, version); });
  }
  void is_wrong(const std::string& what) {
    with([&] {
      if (wrong_.empty()) wrong_ = what;
    });
  }
  void has_finalized(bool well) {
    with([&] { ++(well ? finalized_ : failed_to_finalize_); });
  }

  // One restore that all ranks take part in; judged when the last of them is through with it.
  void restored(std::size_t which, std::uint32_t ranks, const Restored* seen, const std::string& error,
                Model::Faults faults) {
    with([&] {
      if (restores_.size() <= which) restores_.resize(which + 1);
      Restore& restore = restores_[which];
      if (seen != nullptr) restore.seen.push_back(*seen);
      if (!error.empty()) restore.error = error;
      if (++restore.ranks < ranks) return;
      judge(restore, faults);
    });
  }
  // What the others did not come to, since the job was killed.
  void end(Model::Faults faults) {
    with([&] {
      for (Restore& restore : restores_) judge(restore, faults);
    });
  }

  [[nodiscard]] const std::string& wrong() const { return wrong_; }
  [[nodiscard]] std::uint32_t finalized() const { return finalized_; }
  [[nodiscard]] std::uint32_t failed_to_finalize() const { return failed_to_finalize_; }

 private:
  struct Restore {
    std::vector<Restored> seen;
    std::string error;
    std::uint32_t ranks = 0;
    bool judged = false;
  };

  template <class Call>
  void with(Call call) {
    const std::scoped_lock lock(mutex_);
    call();
  }
  void judge(Restore& restore, Model::Faults faults) {
    if (std::exchange(restore.judged, true)) return;
    const std::string wrong = model_.judge(restore.seen, restore.error, faults);
    if (wrong_.empty()) wrong_ = wrong;
  }

  std::mutex mutex_;
  Model& model_;
  std::string wrong_;
  std::vector<Restore> restores_;
  std::uint32_t finalized_ = 0;
  std::uint32_t failed_to_finalize_ = 0;
};

// One rank's application: its state says of which moment of the job it is, so what comes back can be judged.
class Application {
 public:
  Application(JobSession& session, const Life& life, std::uint64_t first_stamp, Model::Faults faults, Ledger& ledger)
      : session_(session), life_(life), first_stamp_(first_stamp), faults_(faults), ledger_(ledger) {
    session_.protect("state", state_);
    session_.protect("stamp", stamp_);
    session_.protect("elements", elements_);
    fill();
  }

  void run() {
    restore();
    for (std::size_t i = 0; i < life_.events.size() && !gone_; ++i) {
      next_stamp_ = first_stamp_ + i;
      handle(life_.events[i]);
      note_what_is_safe();
    }
    if (life_.end == Life::End::finalize && !gone_) {
      const bool well = !call([&] { session_.finalize(); });
      // After a failed restore it leaves everything as it is.
      if (!undefined_) ledger_.has_finalized(well);
    }
  }

 private:
  void handle(const Event& event) {
    using Kind = Event::Kind;
    switch (event.kind) {
      case Kind::compute: compute(); break;
      case Kind::snapshot: snapshot(std::nullopt); break;
      case Kind::snapshot_to: snapshot(static_cast<LevelId>(event.level)); break;
      case Kind::wait: call([&] { session_.wait(static_cast<LevelId>(event.level)); }); break;
      case Kind::restore: restore(); break;
      case Kind::resize: elements_ = event.number; break;
      case Kind::toggle_more: toggle_more(); break;
      case Kind::kill_job:
        if (event.number == session_.rank()) session_.kill_job();
        break;
    }
  }

  void compute() {
    stamp_ = next_stamp_;
    fill();
  }
  // Every rank has another number of elements, and other ones.
  [[nodiscard]] std::vector<double> expected() const {
    std::vector<double> state(elements_ + session_.rank());
    for (std::size_t i = 0; i < state.size(); ++i)
      state[i] = static_cast<double>(stamp_) * 1e6 + session_.rank() * 1e4 + static_cast<double>(i % 9973);
    return state;
  }
  void fill() { state_ = expected(); }

  void toggle_more() {
    has_more_ = !has_more_;
    if (has_more_) {
      session_.protect("more", more_);
    } else {
      session_.unprotect("more");
    }
  }

  void snapshot(std::optional<LevelId> level) {
    compute();
    ledger_.tries(stamp_);
    std::optional<std::uint32_t> version;
    call([&] { version = level ? session_.snapshot(*level) : session_.snapshot(); });
    if (version) ledger_.takes(*version, stamp_);
  }

  void restore() {
    const std::size_t which = restores_++;
    const std::uint64_t before = stamp_;
    Restored seen;
    std::optional<Exception> error;
    const auto ask = [&] {
      error = call([&] {
        const auto report = session_.restore();
        seen = {!report.restored, report.version, stamp_};
      });
    };
    ask();
    // A snapshot with another set of regions is refused, and the program corrected.
    if (error && error->kind() == ErrorKind::mismatch) {
      toggle_more();
      ask();
    }
    const bool well = !error;
    undefined_ = !well;
    if (well && seen.fresh) {
      if (stamp_ != before) ledger_.is_wrong("a fresh start changed the state");
    } else if (well && state_ != expected()) {
      ledger_.is_wrong(fmt::format("rank {}: version {} came back with other bytes", session_.rank(), seen.version));
    }
    ledger_.restored(which, session_.size(), well ? &seen : nullptr, well ? "" : error->what(), faults_);
    // A program that goes on after a failed restore begins anew, if it is let.
    if (!well) fill();
  }

  void note_what_is_safe() {
    for (std::uint32_t level = 1; level <= 4 && !gone_; ++level) {
      call([&] { ledger_.is_safe(level, session_.safe_version(static_cast<LevelId>(level))); });
    }
  }

  // The error, if there was one. The program takes no notice of it, but for the loss of its peers.
  template <class Call>
  std::optional<Exception> call(Call call) {
    try {
      call();
      return {};
    } catch (const Exception& error) {
      if (error.kind() == ErrorKind::communication) gone_ = true;
      return error;
    }
  }

  JobSession& session_;
  const Life& life_;
  std::uint64_t first_stamp_;
  Model::Faults faults_;
  Ledger& ledger_;

  std::vector<double> state_;
  std::uint64_t stamp_ = 0;
  std::uint64_t elements_ = 20;
  std::vector<int> more_ = std::vector<int>(7);
  std::uint64_t next_stamp_ = 0;
  std::size_t restores_ = 0;
  bool has_more_ = false;
  bool undefined_ = false;  // the last restore failed
  bool gone_ = false;
};

class Player {
 public:
  explicit Player(const Scenario& scenario) : scenario_(scenario), job_({1}, "") {
    job_.log_level = std::getenv("TORTURE_LOG") ? "info" : "off";
  }

  std::string play() {
    for (std::size_t i = 0; i < scenario_.lives.size(); ++i) {
      const std::string wrong = live(scenario_.lives[i], 1 + 1000 * i);
      if (!wrong.empty()) return fmt::format("life {}: {}", i, wrong);
    }
    return {};
  }

 private:
  std::string live(const Life& life, std::uint64_t first_stamp) {
    job_.reshape(life.nodes);
    job_.configure(life.settings);
    for (const Mishap& mishap : life.before) happen(mishap);
    model_.begin_life(static_cast<std::uint32_t>(life.nodes.size()), life.copies, life.parity);
    inject(life);
    const Model::Faults faults = faults_of(life);
    Ledger ledger(model_);
    std::atomic<std::uint32_t> size{0};
    job_.run_and_die([&](JobSession& session) {
      size = session.size();
      Application(session, life, first_stamp, faults, ledger).run();
    });
    ledger.end(faults);
    if (!ledger.wrong().empty()) return ledger.wrong();
    // What could not be read or written counts as damaged from then on: nobody can tell whether it is for good.
    for (const Fault& fault : life.faults) {
      if (is_of_node(fault)) model_.node_is_hurt(fault.node);
    }
    // No rank got as far as restore().
    if (size == 0) return model_.judge({}, job_.open_error(), faults);
    if (!job_.errors().empty()) return "an exception of another kind: " + job_.errors().begin()->second;
    // One that failed on the way has ended the chain, or not.
    if (ledger.finalized() + ledger.failed_to_finalize() > 0 && life.finishes)
      model_.finished(ledger.finalized() == size && faults == Model::Faults::none);
    return {};
  }

  static bool is_of_node(const Fault& fault) {
    using Kind = Fault::Kind;
    return fault.kind == Kind::node_write_once || fault.kind == Kind::node_writes || fault.kind == Kind::node_read_once;
  }
  static Model::Faults faults_of(const Life& life) {
    const auto kills = [](const Event& event) { return event.kind == Event::Kind::kill_job; };
    if (!life.faults.empty() && life.faults.front().kind != Fault::Kind::message) return Model::Faults::of_stores;
    return life.faults.empty() && std::ranges::none_of(life.events, kills) ? Model::Faults::none
                                                                           : Model::Faults::deadly;
  }

  void happen(const Mishap& mishap) {
    using Kind = Mishap::Kind;
    const bool is_there = mishap.node < job_.nodes();
    switch (mishap.kind) {
      case Kind::lose_node:
        if (is_there) job_.lose(mishap.node);
        if (is_there) model_.node_is_hurt(mishap.node);
        break;
      case Kind::lose_global:
        job_.global_store().wipe();
        model_.global_is_hurt(true);
        break;
      case Kind::flip_global_file:
        if (damage(job_.global_store(), mishap)) model_.global_is_hurt(false);
        break;
      case Kind::flip_node_file:
      case Kind::cut_node_file:
      case Kind::remove_node_file:
        if (is_there && damage(job_.node_store(mishap.node), mishap)) model_.node_is_hurt(mishap.node);
        break;
    }
  }

  // Of one file, if there is any.
  static bool damage(MemoryStore& store, const Mishap& mishap) {
    test::StoreImage image = test::image_of(store);
    if (image.empty()) return false;
    const auto file = std::next(image.begin(), static_cast<std::ptrdiff_t>(mishap.pick % image.size()));
    Buffer& bytes = file->second;
    const std::uint64_t where = mishap.pick / image.size();
    if (mishap.kind == Mishap::Kind::remove_node_file) {
      image.erase(file);
    } else if (bytes.empty()) {
      return false;
    } else if (mishap.kind == Mishap::Kind::cut_node_file) {
      bytes.resize(where % bytes.size());
    } else {
      bytes[where / 8 % bytes.size()] ^= std::byte{static_cast<unsigned char>(1U << (where % 8))};
    }
    test::put_back(store, image);
    return true;
  }

  void inject(const Life& life) {
    job_.message_faults.reset();
    job_.wrap_node = {};
    job_.wrap_global = {};
    if (life.faults.empty()) return;
    using Kind = Fault::Kind;
    const Fault& fault = life.faults.front();
    auto plan = std::make_shared<test::FaultPlan>();
    switch (fault.kind) {
      case Kind::message:
        job_.message_faults = std::make_shared<test::CommFaultPlan>();
        job_.message_faults->first_failing = fault.at;
        return;
      case Kind::node_write_once:
      case Kind::global_write_once: plan->fail_once_at(fault.at); break;
      case Kind::node_writes:
      case Kind::global_writes: plan->crash_at(fault.at, true); break;
      case Kind::node_read_once: return fail_a_read(fault);
    }
    if (fault.kind == Kind::global_write_once || fault.kind == Kind::global_writes) {
      job_.wrap_global = [plan](std::shared_ptr<Store> store) {
        return std::make_shared<test::FaultyStore>(store, plan);
      };
    } else {
      job_.wrap_node = [plan, hurt = fault.node](std::uint32_t node,
                                                 std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
        if (node != hurt) return store;
        return std::make_shared<test::FaultyStore>(store, plan);
      };
    }
  }

  void fail_a_read(const Fault& fault) {
    auto reads = std::make_shared<std::atomic<std::uint64_t>>(0);
    job_.wrap_node = [reads, fault](std::uint32_t node, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
      if (node != fault.node) return store;
      auto hooked = std::make_shared<test::HookedStore>(store, [](const auto&) { return Status{}; });
      hooked->on_read = [reads, fault](const std::string& path) -> Status {
        if ((*reads)++ != fault.at) return {};
        return fail(Code::io, path + ": a read failed");
      };
      return hooked;
    };
  }

  const Scenario& scenario_;
  Job job_;
  Model model_;
};

}  // namespace

std::string play(const Scenario& scenario) { return Player(scenario).play(); }

}  // namespace cairn::torture
