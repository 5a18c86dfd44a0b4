// Counts the messages of the session's thread, by which ranks find out after a repair whether they wait for each other
// (replay::Traffic). Messages are counted from a repair until all ranks have compared theirs.
#pragma once

#include "carrier/carrier_job.hpp"

namespace cairn {

class MessageCounts {
 public:
  explicit MessageCounts(const CarrierJob& job) : job_(job) {}

  // Not what MPI takes from any rank: it then chooses the message.
  [[nodiscard]] bool counts(int peer, int tag) const {
    return job_.is_patient() && job_.is_session_thread() && peer >= 0 && (tag >= 0 || tag == replay::kCollectiveTag);
  }
  void sent(const Channel& channel, int peer, int tag) const {
    if (counts(peer, tag)) job_.traffic().sent(channel.stream(peer, tag));
  }
  void posted(const Channel& channel, int peer, int tag) const {
    if (counts(peer, tag)) job_.traffic().posted(channel.stream(peer, tag));
  }
  void received(const Channel& channel, int peer, int tag) const {
    if (counts(peer, tag)) job_.traffic().received(channel.stream(peer, tag));
  }
  // What ends a wait for the receiver of the message that was counted last; nothing: it was not counted.
  [[nodiscard]] std::optional<replay::Need> receiver(const Channel& channel, int peer, int tag) const {
    if (!counts(peer, tag)) return {};
    return job_.traffic().receiver(channel.stream(peer, tag));
  }
  // What ends a wait for such a message.
  [[nodiscard]] replay::Need message(const Channel& channel, int peer, int tag) const {
    return job_.traffic().message(channel.pattern(peer, tag));
  }

 private:
  const CarrierJob& job_;
};

}  // namespace cairn
