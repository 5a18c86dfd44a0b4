#include "session/greeting.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace cairn {
namespace {

// A head that computes receives no messages meanwhile. One rank of its node logs that for all.
void report_silent_head(HeadLink& link, const Membership& membership, const Log& log) {
  const NodeId node = membership.node;
  const std::vector<Rank>& ranks = membership.here().ranks;
  const Rank me = membership.rank();
  if (!membership.topology.runs_inline(node) || ranks.size() < 2 || ranks[1] != me) return;
  link.on_silent_head([log, me, head = ranks[0], node](const std::string& call, std::chrono::seconds waited) {
    log.warning("rank {} has waited {} s in {}; not in a Cairn call: rank {}, the head of node {}", me.value,
                waited.count(), call, head.value, node.value);
  });
}

}  // namespace

Result<Greeting> greet_head(const Membership& membership, Store& local, std::optional<EngineSetup> own, const Log& log,
                            const Trace& trace, const Environment& environment) {
  const auto span = trace.span("greet head");
  const Peer head = membership.here().head;
  // The first message says what this rank alone cannot do. From then on all ranks leave, or all stay.
  auto bell = local.bell();
  Hello first;
  if (!bell) first.error = bell.error();
  first.process = environment.process;
  if (auto status = membership.control.send(head, kToHead, encode(ToHead(first))); !status) return fail(status.error());
  if (bell) (*bell)->ring(Bell::Who::head);
  OwnEngine engine = own ? start_engine(*std::move(own)) : OwnEngine{};
  HeadLink::Drive drive;
  if (engine.in_calls) drive = [raw = engine.in_calls.get()] { return raw->step(Engine::Heads::compute); };
  auto link = std::make_unique<HeadLink>(membership.control, head, std::move(drive), environment.clock);
  if (bell) link->use_bell(std::move(*bell));
  report_silent_head(*link, membership, log);
  if (environment.meanwhile) environment.meanwhile(*membership.ranks);
  auto heard = link->wait_until([&] { return link->opened.has_value(); }, {"open()"});
  if (!heard) return fail(heard.error());
  if (link->opened->error) return fail(*link->opened->error);
  Opened life = *std::exchange(link->opened, std::nullopt);
  trace.begin(life.incarnation);
  return Greeting{.engine = std::move(engine), .link = std::move(link), .life = std::move(life)};
}

}  // namespace cairn
