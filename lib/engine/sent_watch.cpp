#include "engine/sent_watch.hpp"

#include <map>

namespace cairn {

void SentWatch::note(NodeId to, SymptomPort::Sent how, Time now) {
  if (files_.size() == kMostFiles) files_.pop_front();
  files_.push_back({to, how, now});
}

void SentWatch::fill(localize::NodeState& state, Time now) const {
  for (const File& file : files_)
    if (file.how == SymptomPort::Sent::damaged && now - file.at < kCounts) ++state.store_damaged;
}

void SentWatch::fill(localize::NodeLog& log, Time now) const {
  struct Count {
    std::uint32_t all = 0, refused = 0;
  };
  std::map<NodeId, Count> counts;
  for (const File& file : files_) {
    if (now - file.at >= kCounts) continue;
    Count& count = counts[file.to];
    ++count.all;
    if (file.how == SymptomPort::Sent::refused) ++count.refused;
  }
  Count bad;
  for (const auto& [peer, count] : counts) {
    if (count.refused == 0) continue;
    ++log.bad_peers;
    bad.all += count.all;
    bad.refused += count.refused;
  }
  if (bad.all > 0) log.bad_share = static_cast<double>(bad.refused) / bad.all;
}

}  // namespace cairn
