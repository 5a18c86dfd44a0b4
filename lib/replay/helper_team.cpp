#include "replay/helper_team.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "replay/part_work.hpp"

namespace cairn::replay {
namespace {

// No other message of this communicator has it.
constexpr Tag kHelperTag{903};

using Clock = std::chrono::steady_clock;

}  // namespace

void HelperTeam::send(std::uint32_t to, Kind kind, std::int32_t tag, Bytes payload) {
  ByteWriter out(payload.size() + 16);
  out.put(kind);
  out.put(attempt_);
  out.put(tag);
  out.put(payload);
  Send& sent = sends_.emplace_back(Send{out.take(), {}});
  sent.request = setting_.comm.isend(Peer{to}, kHelperTag, sent.bytes);
}

Status HelperTeam::take_messages() {
  // One to a dead member fails, and is over.
  std::erase_if(sends_, [](const Send& send) {
    const auto done = send.request->test();
    return !done || *done;
  });
  while (true) {
    const auto found = setting_.comm.probe(kHelperTag);
    if (!found) return fail(found.error());
    if (!*found) return {};
    const auto bytes = setting_.comm.recv_probed(**found);
    if (!bytes) return fail(bytes.error());
    ByteReader in(*bytes);
    Message message;
    message.kind = in.get<Kind>();
    message.attempt = in.get<std::uint32_t>();
    message.tag = in.get<std::int32_t>();
    const Bytes payload = in.get_bytes(in.remaining());
    message.payload.assign(payload.begin(), payload.end());
    if (!in.good()) return fail_internal(Code::communication, "a message between helpers is damaged");
    progress_ = true;
    if (auto status = take((*found)->source.value, std::move(message)); !status) return status;
  }
}

Status HelperTeam::take(std::uint32_t from, Message message) {
  if (message.attempt < attempt_) return {};
  switch (message.kind) {
    case Kind::between_parts:
      inbox_[message.attempt][{from, message.tag}].push_back(std::move(message.payload));
      return {};
    case Kind::stop:
      if (order_ && order_attempt_ == message.attempt) order_.reset();
      stopped_ = Error{Code::communication, "the replacement does not need this part any more", {}};
      return {};
    case Kind::failed: stopped_ = Error{Code::unrecoverable, std::string(text_of(message.payload)), {}}; return {};
    case Kind::result: {
      auto result = decode_part_result(message.payload);
      if (!result) return fail(result.error());
      results_[from] = std::move(*result);
      return {};
    }
    case Kind::order: {
      auto order = decode_part_order(message.payload);
      if (!order) return fail(order.error());
      order_ = std::move(*order);
      order_attempt_ = message.attempt;
      stopped_ = Error{Code::communication, "the replacement has begun again", {}};
      return {};
    }
  }
  return fail_internal(Code::communication, "a message between helpers is of an unknown kind");
}

void HelperTeam::begin(std::uint32_t attempt, std::vector<std::uint32_t> members) {
  attempt_ = attempt;
  members_ = std::move(members);
  stopped_.reset();
  results_.clear();
  inbox_.erase(inbox_.begin(), inbox_.lower_bound(attempt));
}

bool HelperTeam::has_lost_a_member() const { return std::ranges::any_of(members_, setting_.is_gone); }

Status HelperTeam::look() {
  if (auto status = take_messages(); !status) stopped_ = status.error();
  if (!stopped_ && has_lost_a_member()) stopped_ = Error{Code::communication, "a process that helps has died", {}};
  return stopped_ ? Status(fail(*stopped_)) : Status{};
}

Status HelperTeam::wait(const std::function<bool()>& done) {
  auto since = Clock::now();
  while (true) {
    progress_ = false;
    if (auto status = look(); !status) return status;
    if (done()) return {};
    if (progress_) since = Clock::now();
    if (Clock::now() - since > setting_.limit)
      return fail(Code::unrecoverable,
                  fmt::format("no process that helps has sent anything for {} ms", setting_.limit.count()));
    setting_.comm.idle(progress_);
  }
}

Result<Buffer> HelperTeam::message_from(std::uint32_t member, std::int32_t tag) {
  auto& queue = inbox_[attempt_][{member, tag}];
  if (auto status = wait([&] { return !queue.empty(); }); !status) return fail(status.error());
  Buffer payload = std::move(queue.front());
  queue.pop_front();
  return payload;
}

void HelperTeam::stop() {
  for (const std::uint32_t member : members_)
    if (member != 0 && !setting_.is_gone(member)) send(member, Kind::stop, 0, {});
}

Result<std::vector<PartResult>> HelperTeam::recompute(const LostSteps& steps, const Split& split,
                                                      const Compute& compute) {
  while (true) {
    std::vector<std::uint32_t> members;
    for (std::uint32_t member = 0; member < setting_.comm.size(); ++member)
      if (!setting_.is_gone(member)) members.push_back(member);
    if (members.size() < 2) return fail(Code::unrecoverable, "no spare is left");
    begin(attempt_ + 1, std::move(members));
    auto states = split(static_cast<std::uint32_t>(members_.size()));
    if (!states) return fail(states.error());
    if (states->size() != members_.size())
      return fail(Code::invalid_argument,
                  fmt::format("the state was cut in {} parts, not in {}", states->size(), members_.size()));
    auto results = lead(steps, std::move(*states), compute);
    if (results) return results;
    if (!has_lost_a_member()) {
      stop();
      return results;
    }
    // If a process that computes has died, no other attempt can succeed.
    if (auto status = take_messages(); !status) return fail(status.error());
  }
}

Result<std::vector<PartResult>> HelperTeam::lead(const LostSteps& steps, std::vector<Buffer> states,
                                                 const Compute& compute) {
  PartOrder order{.steps = steps, .part = 0, .members = members_, .state = {}};
  for (std::uint32_t part = static_cast<std::uint32_t>(members_.size()); part-- > 0;) {
    order.part = part;
    order.state = std::move(states[part]);
    if (part > 0) send(members_[part], Kind::order, 0, encode(order));
  }
  PartWork work(*this, std::move(order));
  auto state = compute(work);
  if (stopped_) return fail(*stopped_);
  if (!state) return fail(state.error());
  auto mine = std::move(work).result(std::move(*state));
  if (!mine) return fail(mine.error());
  results_[0] = std::move(*mine);
  if (auto status = wait([&] { return results_.size() == members_.size() && sends_.empty(); }); !status)
    return fail(status.error());
  std::vector<PartResult> results;
  for (const std::uint32_t member : members_) results.push_back(std::move(results_[member]));
  return results;
}

Result<std::uint64_t> HelperTeam::help(const Compute& compute) {
  if (auto status = take_messages(); !status) return fail(status.error());
  std::uint64_t steps = 0;
  while (order_) {
    PartOrder order = std::move(*order_);
    order_.reset();
    begin(order_attempt_, order.members);
    steps = order.steps.end - order.steps.begin;
    PartWork work(*this, std::move(order));
    auto state = compute(work);
    if (stopped_) {
      steps = 0;
      continue;
    }
    auto result = state ? std::move(work).result(std::move(*state)) : Result<PartResult>(fail(state.error()));
    if (result)
      send(0, Kind::result, 0, encode(*result));
    else
      send(0, Kind::failed, 0, bytes_of(result.error().text()));
  }
  return steps;
}

}  // namespace cairn::replay
