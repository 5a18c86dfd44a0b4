// How fast a node's transfers are, compared with those of the nodes next to it in the tree. Heads send their rates
// along with their heartbeats. A node is slow if its best transfer is far slower than the median of its siblings'. One
// thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "base/symptom.hpp"

namespace cairn {

// Of a node, by its last exchange with other nodes.
struct TransferRate {
  std::uint64_t exchanges = 0;  // how many there were
  double best = 0;              // bytes per second, of the fastest transfer of the last one; 0: there was none
  friend bool operator==(const TransferRate&, const TransferRate&) = default;
};

class TransferWatch {
 public:
  explicit TransferWatch(NodeId self) : self_(self) {}

  // This node's transfers of one exchange.
  void note(std::span<const SymptomPort::Transfer> transfers);
  [[nodiscard]] TransferRate own() const { return own_; }
  // The median of the last exchanges; 0: there were none.
  [[nodiscard]] double bandwidth() const;
  // Another node's.
  void note(NodeId node, const TransferRate& rate);

  // Nodes whose last exchange was far slower than that of the others, with its share of their median. Each exchange is
  // named once.
  struct Slow {
    NodeId node;
    double share = 0;
  };
  [[nodiscard]] std::vector<Slow> look();

 private:
  struct Known {
    TransferRate rate;
    bool fresh = false;
  };
  NodeId self_;
  TransferRate own_;
  std::deque<double> last_;
  std::map<NodeId, Known> known_;
};

}  // namespace cairn
