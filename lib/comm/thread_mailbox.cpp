#include "comm/thread_mailbox.hpp"

#include <algorithm>
#include <utility>

#include "comm/finished_request.hpp"

namespace cairn {

void ThreadMailbox::hand_over(Peer source, Tag tag, Bytes message, const Receive& receive) {
  if (message.size() > receive.into.size()) {
    receive.transfer->error = message_too_long(source, tag, message.size(), receive.into.size()).value();
  } else {
    copy_bytes(message, receive.into);
  }
  receive.transfer->finish();
}

void ThreadMailbox::deliver(Peer source, Tag tag, Bytes message, const TransferPtr& send, bool to_self) {
  const std::lock_guard lock(mutex_);
  const auto posted = posted_.find(Key{tag, source});
  if (posted != posted_.end()) {
    hand_over(source, tag, message, posted->second.front());
    posted->second.pop_front();
    if (posted->second.empty()) posted_.erase(posted);
    send->finish();
    return;
  }
  Message& waiting = waiting_[tag].emplace_back(Message{source, message, {}, send});
  if (message.size() > kLargestCopied && !to_self) return;
  waiting.copy.assign(message.begin(), message.end());
  waiting.bytes = waiting.copy;
  waiting.send.reset();
  send->finish();
}

bool ThreadMailbox::post(Peer source, Tag tag, MutableBytes into, const TransferPtr& receive) {
  const std::lock_guard lock(mutex_);
  if (const auto of_tag = waiting_.find(tag); of_tag != waiting_.end()) {
    const auto message = std::ranges::find(of_tag->second, source, &Message::source);
    if (message != of_tag->second.end()) {
      hand_over(source, tag, message->bytes, Receive{into, receive});
      const TransferPtr send = message->send;
      of_tag->second.erase(message);
      if (of_tag->second.empty()) waiting_.erase(of_tag);
      if (send) send->finish();
      return send != nullptr;
    }
  }
  posted_[Key{tag, source}].push_back(Receive{into, receive});
  return false;
}

std::optional<Envelope> ThreadMailbox::first(Tag tag) {
  const std::lock_guard lock(mutex_);
  const auto of_tag = waiting_.find(tag);
  if (of_tag == waiting_.end()) return std::nullopt;
  const Message& message = of_tag->second.front();
  return Envelope{message.source, tag, message.bytes.size()};
}

void ThreadMailbox::withdraw_receive(Peer source, Tag tag, const Transfer* receive) {
  const std::lock_guard lock(mutex_);
  const auto posted = posted_.find(Key{tag, source});
  if (posted == posted_.end()) return;
  posted->second.remove_if([&](const Receive& one) { return one.transfer.get() == receive; });
  if (posted->second.empty()) posted_.erase(posted);
}

void ThreadMailbox::release_send(Tag tag, const Transfer* send, bool keep) {
  const std::lock_guard lock(mutex_);
  const auto of_tag = waiting_.find(tag);
  if (of_tag == waiting_.end()) return;
  const auto message = std::ranges::find_if(of_tag->second, [&](const Message& one) { return one.send.get() == send; });
  if (message == of_tag->second.end()) return;
  if (keep) {
    message->copy.assign(message->bytes.begin(), message->bytes.end());
    message->bytes = message->copy;
    message->send.reset();
    return;
  }
  of_tag->second.erase(message);
  if (of_tag->second.empty()) waiting_.erase(of_tag);
}

}  // namespace cairn
