#include "localize/codec.hpp"

#include <cmath>

#include "base/fields.hpp"
#include "localize/facts.hpp"

namespace cairn {

// Found by base/fields: hence not in an unnamed namespace.
void fields(auto& io, SymptomKind& kind) { enum_fields(io, kind, static_cast<SymptomKind>(kSymptomKinds - 1)); }
void fields(auto& io, Suspect& m) { io(m.node), io(m.rank); }

}  // namespace cairn

namespace cairn::localize {

void number(auto& io, double& value) {
  io(value);
  io.check(std::isfinite(value));
}
void fields(auto& io, Fault& fault) { enum_fields(io, fault, static_cast<Fault>(kFaults - 1)); }
void fields(auto& io, Probe& probe) { enum_fields(io, probe, static_cast<Probe>(kProbes - 1)); }
void fields(auto& io, Observation& m) {
  io(m.kind), io(m.suspect), io(m.reporter), io(m.first), io(m.last), io(m.reported), io(m.count), number(io, m.worst),
      io(m.note);
}
void fields(auto& io, Finding& m) {
  auto fact = static_cast<std::uint32_t>(m.fact);
  io(fact), number(io, m.value);
  io.check(fact < kFacts);
  m.fact = fact;
}
void fields(auto& io, Blocker::Doing& doing) {
  enum_fields(io, doing, static_cast<Blocker::Doing>(kBlockerDoings - 1));
}
void fields(auto& io, Blocker& m) {
  io(m.suspect), io(m.doing), number(io, m.seconds), io(m.call), io(m.awaited), io(m.waiting), number(io, m.waited);
  io(m.likely), io(m.unseen), io(m.silent), io(m.ranks);
}
void fields(auto& io, Verdict& m) {
  io(m.fault), io(m.suspect), io(m.nodes), io(m.analyst), io(m.threshold_at), io(m.decided_at), io(m.withdrawn);
  io(m.evidence), io(m.findings), io(m.blocker);
}
void fields(auto& io, EvidenceNote& m) { io(m.observations), io(m.mute), io(m.hops); }
void fields(auto& io, VerdictNote& m) { io(m.verdict), io(m.mute); }
void fields(auto& io, Receipt& m) { io(m.note); }
void fields(auto& io, Question& m) { io(m.number), io(m.probe), io(m.suspect), io(m.calls); }
void fields(auto& io, NodeState& m) {
  for (double* value :
       {&m.bandwidth, &m.load, &m.stolen, &m.memory, &m.store_errors, &m.queue, &m.store_operations, &m.store_failed,
        &m.store_since, &m.store_room, &m.store_free, &m.store_refused, &m.network_errors, &m.store_damaged})
    number(io, *value);
}
void fields(auto& io, RankPace& m) { number(io, m.held), number(io, m.crowded); }
void fields(auto& io, NodeLog& m) { io(m.pace), io(m.bad_peers), number(io, m.bad_share), io(m.calls); }
void fields(auto& io, RankProcess& m) { io(m.alive), io(m.stopped), io(m.oom_kills); }
void fields(auto& io, ResponseAnswer& m) { io(m.process); }
void fields(auto& io, WitnessAnswer& m) { io(m.reached); }
void fields(auto& io, Answer& m) { io(m.number), io(m.what); }
void fields(auto& io, Bulletin& m) { io(m.node), io(m.dead); }
void fields(auto& io, Message& m) { io(m.from), io(m.number), io(m.body); }

Buffer encode(const Message& message) {
  PutFields put;
  // Fields are described once, for reading and writing, hence on a copy that may be written.
  Message copy = message;
  put(copy);
  return put.take();
}

Result<Message> decode_message(Bytes bytes) {
  GetFields get(bytes);
  Message message;
  get(message);
  if (!get.whole()) return fail(Code::communication, "a message of fault localization is damaged");
  return message;
}

}  // namespace cairn::localize
