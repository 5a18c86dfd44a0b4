#include "session/snapshot_write.hpp"

#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "format/shard.hpp"
#include "session/snapshot_levels.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

// Also after an exception.
class Released {
 public:
  explicit Released(Regions& regions) : regions_(regions) {}
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;
  ~Released() { regions_.end_snapshot(); }

 private:
  Regions& regions_;
};

// Back-pressure: a slot that is still needed is not overwritten. A rank whose wait ends without a slot has still used
// up the version's number, as the other ranks have, which may have got theirs.
Status wait_for_slot(SessionState& session) {
  if (session.link().outstanding() < session.connection->life.slots) return {};
  const auto span = session.connection->trace.span("wait for slot");
  const auto start = std::chrono::steady_clock::now();
  const auto is_free = [&] { return session.link().outstanding() < session.connection->life.slots; };
  auto freed = session.link().wait_until([&] { return is_free() || !all_take_part(session); },
                                         {.call = "snapshot()", .limit = session.setting.config.head.wait_limit});
  session.application.waited_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!freed) return fail(freed.error());
  if (*freed) return is_free() ? Status{} : all_take_part(session);
  return fail(
      Code::io,
      fmt::format("rank {} waited {:g} s for its head to finish versions {} to {}{}", session.connection->rank().value,
                  std::chrono::duration<double>(session.setting.config.head.wait_limit).count(),
                  session.link().sealed().begin()->value, session.link().sealed().rbegin()->value,
                  session.link().missing ? "; " + *session.link().missing : ""),
      "take snapshots less often, or raise [head] wait_limit");
}

Result<std::uint64_t> write_shard_of(SessionState& session, Version version) {
  Connection& here = *session.connection;
  auto span = here.trace.span("write", version.value);
  const Released released(session.application.regions);
  const auto regions = session.application.regions.capture();
  if (!regions) return fail(regions.error());
  here.warmer.pause();
  const ShardIdentity who{.identity = here.identity(version),
                          .safe_point = session.application.calls,
                          .rank = here.rank(),
                          .ranks = here.membership->topology.rank_count()};
  const FileName name = names::shard(names::snapshot(version, here.life.run), who.rank);
  auto bytes = write_shard(*here.local, name, who, regions->plan, regions->regions, regions->read);
  if (!bytes) return bytes;
  here.warmer.wrote(*bytes);
  span.set_bytes(*bytes);
  return bytes;
}

// An exception must not leave the call before the head has the seal: the other ranks have used this version's number.
Result<std::uint64_t> try_to_write_shard_of(SessionState& session, Version version) {
  try {
    return write_shard_of(session, version);
  } catch (const std::bad_alloc&) {
    return fail(Code::no_space, "the process is out of memory");
  } catch (const std::exception& error) {
    return fail(Code::io, error.what());
  }
}

// [head] mode = inline: this rank is its node's head, and does the head's work now, until the version is safe at all
// its levels. It does not wait for later versions, which other ranks may already have begun: they need this rank's
// part.
Status run_head(SessionState& session, Version version) {
  if (!session.connection->engine.in_calls) return {};
  const auto span = session.connection->trace.span("run head", version.value);
  const auto over = [&] {
    const bool voted =
        session.link().reached(LevelId::local) >= version || session.link().failure(version, LevelId::local);
    return (voted && !session.connection->engine.in_calls->busy_with(version)) || !all_take_part(session);
  };
  auto done = session.wait_until(over, "snapshot()");
  return done ? all_take_part(session) : done;
}

}  // namespace

Status write_snapshot(SessionState& session, Version version, LevelSet levels) {
  Status written = wait_for_slot(session);
  if (!written && written.error().code == Code::communication) return written;
  Seal seal{.version = version,
            .safe_point = session.application.calls,
            .levels = levels,
            .error = {},
            .notes = session.application.notes.notes(),
            .pin = session.application.notes.pins(),
            .destinations = session.application.regions.destinations(version)};
  if (written) {
    const auto bytes = try_to_write_shard_of(session, version);
    if (bytes) seal.bytes = *bytes;
    if (!bytes) written = fail(bytes.error());
  }
  if (!written) seal.error = written.error();
  session.application.meant[static_cast<std::size_t>(LevelId::local)] = version;
  for (const LevelId level : levels) session.application.meant[static_cast<std::size_t>(level)] = version;
  // The head gets a failure too: then the version is abandoned on all nodes, and nothing waits for it.
  if (auto status = session.link().send(seal); !status) return status;
  session.connection->warmer.run(session.connection->free_slots());
  // The other heads wait for this one, whatever became of the shard.
  if (auto status = run_head(session, version); !status) return status;
  if (written) return {};
  return fail(written.error().in(fmt::format("version {} could not be written", version.value)));
}

}  // namespace cairn
