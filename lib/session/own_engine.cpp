#include "session/own_engine.hpp"

#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/workers.hpp"

namespace cairn {
namespace {

LayoutWishes::Wish wish_for(const Config::Levels& levels, LevelId level) {
  if (!levels.wanted().has(level)) return LayoutWishes::Wish::off;
  return levels.insisted.has(level) ? LayoutWishes::Wish::insisted : LayoutWishes::Wish::where_possible;
}

}  // namespace

EngineOptions engine_options(const Config& config, const Topology& topology, NodeId node) {
  EngineOptions options;
  options.job = config.job.name;
  options.records_calls = config.job.tap;
  options.wishes = {.copies = config.partner.copies,
                    .rotation = config.partner.rotation,
                    .group = config.erasure.group,
                    .parity = config.erasure.parity,
                    .for_copies = wish_for(config.levels, LevelId::partner),
                    .for_parity = wish_for(config.levels, LevelId::erasure)};
  options.keep.at[0] = config.storage.keep_local;
  options.keep.at[1] = config.partner.rotation;
  options.keep.at[3] = config.storage.keep_global;
  if (config.restart.mode == Config::Restart::Mode::fresh) options.start = EngineOptions::Start::fresh;
  if (config.restart.mode == Config::Restart::Mode::required) options.start = EngineOptions::Start::required;
  options.finished_at_end = config.restart.at_end == Config::Restart::AtEnd::finished;
  options.verify_own = config.restart.verify == Config::Restart::Verify::sha256 || !config.integrity.key_file.empty();
  options.log_storage_errors = config.job.on_storage_error == Config::Job::OnStorageError::continue_;
  options.elastic = config.restart.elastic;
  for (const LevelId level : kAllLevels)
    if (config.levels.of(level).kind == Interval::Kind::off) options.off.add(level);
  options.level_by_level = !config.restart.use_failure_topology;
  options.localize = {.on = config.localize.on,
                      .fanout = config.localize.fanout,
                      .threshold = config.localize.threshold,
                      .window = config.localize.window,
                      .rules = config.localize.rules,
                      .stuck_after = config.localize.stuck_after,
                      .silent_after = config.localize.silent_after,
                      .act = config.localize.act};
  options.threads = config.head.threads;
  if (options.threads == 0) options.threads = threads_of_head(topology, node, usable_processors());
  return options;
}

OwnEngine start_engine(EngineSetup setup) {
  OwnEngine own;
  if (setup.topology.mode == HeadMode::thread) {
    try {
      own.thread = std::jthread([setup] {
        setup.trace.name_thread("head");
        auto engine = Engine::open(setup);
        if (engine) (void)(*engine)->serve();
      });
      return own;
    } catch (const std::system_error& error) {
      setup.unable =
          Error{Code::io,
                fmt::format("node {}: cannot start the thread of its head: {}", setup.heads.rank().value, error.what()),
                {}};
    }
  }
  auto engine = Engine::open(setup);
  if (engine) own.in_calls = std::move(*engine);
  return own;
}

}  // namespace cairn
