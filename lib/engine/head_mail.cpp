#include "engine/head_mail.hpp"

#include <utility>

#include "engine/messages.hpp"

namespace cairn {

HeadMail::HeadMail(Comm& control, const Topology& topology)
    : control_(control),
      topology_(topology),
      me_(topology.node_of_world[control.rank().value]),
      sent_(topology.nodes.size()) {}

std::unique_ptr<Request> HeadMail::isend(NodeId to, Tag tag, Bytes message) {
  if (to != me_) ++sent_[to.value];
  return control_.isend(topology_.nodes[to.value].head, tag, message);
}

Status HeadMail::send(NodeId to, Tag tag, Bytes message) {
  const auto request = isend(to, tag, message);
  return control_.wait(*request);
}

Result<std::optional<HeadMail::Letter>> HeadMail::receive(Tag tag) {
  const auto envelope = control_.probe(tag);
  if (!envelope) return fail(envelope.error());
  if (!*envelope) return std::optional<Letter>();
  auto bytes = control_.recv_probed(**envelope);
  if (!bytes) return fail(bytes.error());
  const Peer from = (*envelope)->source;
  if (topology_.node_of_world[from.value] != me_) ++received_;
  return Letter{from, std::move(*bytes)};
}

Status HeadMail::settle(Comm& heads) {
  std::vector<std::uint64_t> sent_to = sent_;
  if (auto status = heads.allreduce(sent_to, Reduce::sum); !status) return status;
  while (received_ < sent_to[me_.value]) {
    bool any = false;
    for (const Tag tag : {kToHead, kToFaultDesk, kHeartbeat}) {
      const auto letter = receive(tag);
      if (!letter) return fail(letter.error());
      any = any || letter->has_value();
    }
    control_.idle(any);
  }
  return {};
}

}  // namespace cairn
