// What has become of the files that this node has sent to others for a restore: they were whole when they arrived, or
// were refused. A file that was refused has been read again here, which tells whether the store or the path damaged it.
// Pure. One thread.
#pragma once

#include <chrono>
#include <deque>

#include "base/ids.hpp"
#include "base/symptom.hpp"
#include "localize/messages.hpp"

namespace cairn {

class SentWatch {
 public:
  using Time = std::chrono::microseconds;

  // What is older no longer counts.
  static constexpr std::chrono::minutes kCounts{10};
  // Of more, the oldest go.
  static constexpr std::size_t kMostFiles = 4096;

  void note(NodeId to, SymptomPort::Sent how, Time now);
  // For a probe. A node is a bad peer if it has refused a file that is whole here.
  void fill(localize::NodeState& state, Time now) const;
  void fill(localize::NodeLog& log, Time now) const;

 private:
  struct File {
    NodeId to;
    SymptomPort::Sent how{};
    Time at{};
  };
  std::deque<File> files_;  // the oldest first
};

}  // namespace cairn
