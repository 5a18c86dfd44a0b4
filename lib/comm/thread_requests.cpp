#include "comm/thread_requests.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cairn {
namespace {

Result<bool> outcome(const Transfer& transfer) {
  if (transfer.error) return fail(*transfer.error);
  return true;
}

// `reachable` was determined before the transfer is tested, so a transfer that was finished before a death counts as
// finished.
Result<bool> test_transfer(const Transfer& transfer, const Status& reachable, const char* what, Tag tag) {
  if (transfer.finished()) return outcome(transfer);
  if (reachable) return false;
  return fail(reachable.error().in(fmt::format("{} with tag {}", what, tag.value)));
}

}  // namespace

ThreadSend::~ThreadSend() {
  if (transfer_->finished()) return;
  // The receiver will find a copy, as if somebody had waited for the send. A dead member sends nothing more.
  const bool keep = group_->reachable(self_, to_).has_value();
  group_->mailboxes[to_.value].release_send(tag_, transfer_.get(), keep);
}

Result<bool> ThreadSend::test() {
  const Status reachable = group_->reachable(self_, to_);
  return test_transfer(*transfer_, reachable, "send", tag_);
}

ThreadReceive::~ThreadReceive() {
  if (!transfer_->finished()) group_->mailboxes[self_.value].withdraw_receive(from_, tag_, transfer_.get());
}

Result<bool> ThreadReceive::test() {
  const Status reachable = group_->reachable(self_, from_);
  return test_transfer(*transfer_, reachable, "receive", tag_);
}

Result<bool> ThreadCollectiveRequest::test() {
  const Status reachable = group_->all_reachable(self_);
  if (collective_->finished()) {
    if (collective_->error) return fail(*collective_->error);
    // Only once: the values are the caller's again after the first time.
    std::ranges::copy(std::span(collective_->values).first(values_.size()), values_.begin());
    values_ = {};
    return true;
  }
  if (reachable) return false;
  return fail(reachable.error().in("collective"));
}

}  // namespace cairn
