// How new processes become members of a pool over MPI, and how those end that could not.
#include <algorithm>
#include <chrono>
#include <utility>

#include "mpi/process.hpp"
#include "repair/pool.hpp"
#include "repair/respawn.hpp"
#include "repair/watchdog.hpp"

namespace cairn {
namespace {

constexpr std::chrono::minutes kLongestWelcome{10};

}  // namespace

// A survivor that dies while it starts new processes leaves them behind: they wait for it in MPI_Init, some of them
// busily. They may appear late, so every later repair looks for them, and so does the end of the job. One process of a
// host is enough.
void Pool::end_strays() const {
  const auto& neighbours = member_->neighbours();
  if (!neighbours.empty() && neighbours.front().number < member_->life().me) return;
  if (state().strays) end_newcomers();
}

// A newcomer may have died before it reached Cairn's code. Then this process and the other newcomers wait for it inside
// MPI, and the newcomers would keep mpirun from ending.
void Pool::end_newcomers() const {
  std::vector<ProcessId> members{this_process()};
  for (const auto& neighbour : member_->neighbours()) members.push_back(neighbour.process);
  kill_children_but(members, parent_process(), state().mark);
}

Result<std::unique_ptr<Pool>> Pool::join(MPI_Comm newcomers) {
  // A fixed limit, longer than a repair should take: a newcomer does not have the configuration yet.
  auto welcoming = std::make_unique<Watchdog>(newcomers, kLongestWelcome, "joining the job");
  int number = 0;
  int count = 0;
  MPI_Comm_rank(newcomers, &number);
  MPI_Comm_size(newcomers, &count);
  PoolLife life;
  const MPI_Comm grown = respawn::join(newcomers);
  life.pool = MpiUlfmComm::take(grown);
  const auto news = life.pool->broadcast({});
  if (!news) respawn::leave();
  welcoming.reset();
  ByteReader reader(*news);
  auto source = decode_config_source(reader.get_bytes(reader.get<std::uint64_t>()));
  if (!source) return fail(source.error());
  auto config = parse_config(*source);
  if (!config) return fail(config.error());
  std::unique_ptr<Pool> pool(new Pool(*std::move(source), *config));
  auto state = pool->take_news(reader);
  if (!state) return fail(state.error());
  // The newcomers are the last of the roster.
  const auto from_last = static_cast<std::uint32_t>(count - number);
  if (from_last > state->roster.size())
    return fail_internal(Code::communication, "the message to new processes is damaged");
  life.me = static_cast<std::uint32_t>(state->roster.size()) - from_last;
  const auto end_others = [mark = state->mark] { kill_children_but({this_process()}, parent_process(), mark); };
  Watchdog watchdog(grown, config->recovery.limit, "joining the job", end_others);
  life.state = std::move(*state);
  PoolMeeting meeting(pool->config_, this_process(), {},
                      {.begin_step = [&](const std::string& step) { watchdog.step(step); },
                       .news = [&](const PoolState& now) { return pool->news(now); }});
  auto joined = meeting.join(std::move(life));
  if (!joined) return fail(joined.error());
  pool->become_member(std::move(*joined));
  pool->end_strays();
  return pool;
}

// All that a newcomer needs; every survivor would send the same.
Buffer Pool::news(const PoolState& state) const {
  ByteWriter out;
  const Buffer source = encode(source_);
  out.put(static_cast<std::uint64_t>(source.size()));
  out.put(source);
  out.put(config_.head.mode.value());
  out.put_text(launcher_.mark);
  out.put_text(launcher_.ended);
  out.put(launcher_.world.has_value());
  encode(state, out);
  return out.take();
}

Result<PoolState> Pool::take_news(ByteReader& news) {
  config_.head.mode = news.get<HeadMode>();
  launcher_.mark = news.get_text();
  launcher_.ended = news.get_text();
  if (news.get<bool>()) launcher_.world = StartedWorld{config_.topology.node_size, config_.recovery.spares, true};
  return decode_pool_state(news);
}

}  // namespace cairn
