#include "carrier/request_book.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "mpi/payload.hpp"

namespace cairn {
namespace {

// A persistent request that is not active is complete to MPI, with an empty status.
PendingMessage not_active(Channel* channel, std::shared_ptr<const PreparedMessage> prepared) {
  PendingMessage idle;
  idle.channel = channel;
  idle.prepared = std::move(prepared);
  idle.is_active = false;
  idle.done = true;
  fill_status(&idle.status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
  return idle;
}

}  // namespace

MPI_Request RequestBook::add(const PendingMessage& message) {
  const auto held = lock_.hold();
  const MPI_Request request = stand_ins_.take();
  if (request == MPI_REQUEST_NULL) return request;
  const auto added = messages_.emplace(request, std::make_unique<PendingMessage>(message));
  check(added.second);
  added.first->second->order = posted_++;
  return request;
}

MPI_Request RequestBook::add_prepared(Channel& channel, std::shared_ptr<const PreparedMessage> prepared) {
  return add(not_active(&channel, std::move(prepared)));
}

PendingMessage* RequestBook::find(MPI_Request request) const {
  const auto held = lock_.hold();
  const auto at = messages_.find(request);
  return at == messages_.end() ? nullptr : at->second.get();
}

PendingMessage& RequestBook::of(MPI_Request request) const {
  const auto at = messages_.find(request);
  check(at != messages_.end());
  return *at->second;
}

bool RequestBook::has_any(std::span<const MPI_Request> requests) const {
  const auto held = lock_.hold();
  return !messages_.empty() &&
         std::ranges::any_of(requests, [&](MPI_Request request) { return messages_.contains(request); });
}

void RequestBook::start(PendingMessage& request, PendingMessage begun) {
  check(request.prepared != nullptr && !request.is_active);
  const auto held = lock_.hold();
  begun.prepared = request.prepared;
  begun.order = posted_++;
  request = std::move(begun);
}

void RequestBook::end(MPI_Request& request) {
  const auto held = lock_.hold();
  PendingMessage& message = of(request);
  if (message.prepared) {
    message = not_active(message.channel, message.prepared);
    return;
  }
  messages_.erase(request);
  stand_ins_.give_back(std::exchange(request, MPI_REQUEST_NULL));
}

void RequestBook::remove(MPI_Request& request) {
  const auto held = lock_.hold();
  check(messages_.erase(request) == 1);
  stand_ins_.give_back(std::exchange(request, MPI_REQUEST_NULL));
}

std::size_t RequestBook::active() const {
  const auto held = lock_.hold();
  return static_cast<std::size_t>(
      std::ranges::count_if(messages_, [](const auto& one) { return one.second->is_active; }));
}

bool RequestBook::has_of(std::uint64_t channel) const {
  const auto held = lock_.hold();
  return std::ranges::any_of(messages_, [&](const auto& one) { return one.second->channel->facts.number == channel; });
}

std::vector<PendingMessage*> RequestBook::in_order() const {
  const auto held = lock_.hold();
  std::vector<PendingMessage*> all;
  all.reserve(messages_.size());
  for (const auto& [request, message] : messages_) all.push_back(message.get());
  std::ranges::sort(all, {}, &PendingMessage::order);
  return all;
}

}  // namespace cairn
