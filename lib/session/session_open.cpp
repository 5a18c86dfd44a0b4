#include <utility>

#include "rollback/absent.hpp"
#include "session/session_errors.hpp"
#include "session/session_impl.hpp"
#include "session/shared_setup.hpp"

namespace cairn {
namespace {

BlockDigest digest_of(const Config& config) {
  return config.integrity.digest == Config::Integrity::Digest::sha256 ? BlockDigest::sha256 : BlockDigest::crc32c;
}

}  // namespace

Result<std::unique_ptr<SessionImpl>> SessionImpl::open(const Environment& environment) {
  auto config = share_config(environment);
  if (!config) return fail(config.error());
  const Log log(config->log.level);
  const bool is_logged =
      environment.repairs != nullptr && config->recovery.rollback == Config::Recovery::Rollback::lost;
  if (is_logged && !environment.logs_messages) return fail(rollback::absent());
  auto connection = connect(environment, *config, log);
  if (!connection) return fail(connection.error());
  if (!*connection) return nullptr;
  const Opened& life = (*connection)->life;
  const Topology& topology = (*connection)->membership->topology;
  Application application{
      .rank = (*connection)->rank(),
      .ranks = topology.rank_count(),
      .incarnation = life.incarnation,
      .regions = Regions(digest_of(*config), (*connection)->rank()),
      .schedule = Schedule(config->levels, life.usable),
      .auto_levels = AutoLevels::make(*config, life.usable, life.incarnation, topology.node_count(), life.measured),
      .last_version = life.last_version};
  std::unique_ptr<rollback::LoggedRank> logged;
  if (is_logged)
    logged = environment.logs_messages(
        {.rank = application.rank, .replay = config->replay, .limit = config->recovery.limit, .log = log},
        *environment.repairs);
  SessionState::Setting setting{.config = std::move(*config),
                                .log = log,
                                .clock = environment.clock,
                                .leave_mark = application.rank.value == 0 ? environment.leave_mark : LeaveMark{},
                                .recoverable = environment.repaired.has_value(),
                                .rehearsal = environment.rehearsal};
  std::unique_ptr<SessionImpl> session(new SessionImpl({.setting = std::move(setting),
                                                        .application = std::move(application),
                                                        .logged = std::move(logged),
                                                        .connection = std::move(*connection)}));
  // Again, now that the life has a name.
  leave_mark(session->state_, CompletionMark::Kind::opened);
  return session;
}

}  // namespace cairn
