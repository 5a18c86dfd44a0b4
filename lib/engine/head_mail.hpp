// Messages that heads send each other over the control Comm, outside collectives. They are counted: MPI takes a message
// that comes after its communicator was freed for one of the next communicator with that number.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"
#include "comm/comm.hpp"
#include "topology/topology.hpp"

namespace cairn {

class HeadMail {
 public:
  // `control`: ranks and heads, by world rank. Both must outlive this.
  HeadMail(Comm& control, const Topology& topology);

  // Does not wait. `message` must stay until the request is done.
  [[nodiscard]] std::unique_ptr<Request> isend(NodeId to, Tag tag, Bytes message);
  [[nodiscard]] Status send(NodeId to, Tag tag, Bytes message);

  struct Letter {
    Peer from;  // a head, or a rank of this node
    Buffer bytes;
  };
  // The next message with this tag that has arrived; none: there is none.
  [[nodiscard]] Result<std::optional<Letter>> receive(Tag tag);

  // Receives, and drops, what other heads have sent to this one, so that nothing is on its way afterwards. No head may
  // send any more. Collective over `heads`, whose member i is the head of node i.
  [[nodiscard]] Status settle(Comm& heads);

 private:
  Comm& control_;
  const Topology& topology_;
  NodeId me_;
  std::vector<std::uint64_t> sent_;  // by node
  std::uint64_t received_ = 0;       // from heads of other nodes
};

}  // namespace cairn
