#include "torture/threads.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <numeric>
#include <utility>

#include "support/job.hpp"
#include "support/key_file.hpp"
#include "torture/application.hpp"
#include "torture/faults.hpp"

namespace cairn::torture {
namespace {

using test::JobSession;

// Each look at it takes a moment, and jumps take longer than any wait limit and any interval.
class JumpingClock {
 public:
  JumpingClock(const Clock& clock, std::size_t world) : clock_(clock), looks_(world) {}
  std::chrono::microseconds operator()(std::uint32_t world_rank) {
    const std::uint64_t look = looks_.at(world_rank)++;
    const auto jumps =
        world_rank != clock_.rank ? 0 : std::distance(clock_.jumps.begin(), clock_.jumps.lower_bound(look));
    return std::chrono::microseconds(look) + std::chrono::hours(1) * jumps;
  }

 private:
  Clock clock_;
  std::vector<std::atomic<std::uint64_t>> looks_;  // by world rank
};

class ThreadCluster final : public Cluster {
 public:
  ThreadCluster() { job_.log_level = std::getenv("TORTURE_LOG") ? "info" : "off"; }

  [[nodiscard]] bool has(Place place) const override { return !place || *place < job_.hosts(); }
  [[nodiscard]] test::StoreImage image(Place place) const override { return test::image_of(store(place)); }
  void put_back(Place place, const test::StoreImage& image) override { test::put_back(store(place), image); }
  void lose(Place place) override {
    if (place) {
      job_.lose(*place);
    } else {
      job_.global_store().wipe();
    }
  }

  [[nodiscard]] Circumstances::Faults effect_of(const Life& life) const override { return torture::effect_of(life); }

  [[nodiscard]] Lived live(const Turn& turn, const Begin& begin, Model& /*model*/) override {
    prepare(turn);
    const bool well_meant = effect_of(turn.life) == Circumstances::Faults::none;
    Ledger& notes = begin({0, false, effect_of(turn.life), shaky_in(turn.life), all_is_read_in(turn.life)});
    const auto begin_finalize = inject(
        turn.life, job_, [&](Place place, std::optional<std::uint32_t> version) { notes.is_lost(place, version); });
    job_.run_and_die([&](JobSession& session) {
      Application::Ways ways{[&] { session.kill_job(); }, [&] { const JobSession gone(std::move(session)); }};
      ways.about_to_finalize = begin_finalize;
      Application(session, ways, turn.life, turn.first_stamp, well_meant, notes).run();
    });
    const auto& refused = job_.open_error();
    Lived lived{refused ? noted(refused->kind.value_or(ErrorKind::usage), refused->text) : "", {}};
    if (!job_.errors().empty()) lived.wrong = "an exception of another kind: " + job_.errors().begin()->second.text;
    return lived;
  }

 private:
  [[nodiscard]] MemoryStore& store(Place place) const { return place ? job_.node_store(*place) : job_.global_store(); }

  void prepare(const Turn& turn) {
    const Life& life = turn.life;
    const Life* before = turn.before;
    job_.reshape(life.nodes, life.hosts);
    job_.configure((life.keyed ? key_.setting() : "") + settings_of(life));
    const bool same = before != nullptr && before->nodes == life.nodes && before->hosts == life.hosts;
    job_.same_processes = life.survivors && same && before->end == Life::End::die && !before->strangers && !turn.others;
    job_.failures.lost_nodes = told_lost(turn);
    job_.clock = {};
    if (!life.clock) return;
    const std::size_t world = std::accumulate(life.nodes.begin(), life.nodes.end(), std::size_t{0});
    job_.clock = [clock = std::make_shared<JumpingClock>(*life.clock, world)](std::uint32_t rank) {
      return (*clock)(rank);
    };
  }

  test::KeyFile key_{"torture"};
  mutable test::Job job_{{1}, ""};  // whose stores' images are taken
};

}  // namespace

std::unique_ptr<Cluster> make_thread_cluster() { return std::make_unique<ThreadCluster>(); }

}  // namespace cairn::torture
