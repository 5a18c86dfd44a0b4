#include "support/faulty_comm.hpp"

#include <utility>

#include <fmt/format.h>

#include "comm/finished_request.hpp"

namespace cairn::test {
namespace {

class FaultyRequest final : public Request {
 public:
  FaultyRequest(std::unique_ptr<Request> inner, std::shared_ptr<CommFaultPlan> plan, std::string operation)
      : inner_(std::move(inner)), plan_(std::move(plan)), operation_(std::move(operation)) {}

  Result<bool> test() override {
    if (auto status = plan_->still_working(operation_); !status) return fail(status.error());
    return inner_->test();
  }

 private:
  std::unique_ptr<Request> inner_;
  std::shared_ptr<CommFaultPlan> plan_;
  std::string operation_;
};

}  // namespace

Status CommFaultPlan::next(const std::string& operation) {
  const std::uint64_t number = operations++;
  if (number < first_failing) return {};
  if (!failing.exchange(true) && on_first_failure) on_first_failure();
  return fail(Code::communication, fmt::format("injected at message operation {}: {}", number, operation));
}

Status CommFaultPlan::still_working(const std::string& operation) const {
  if (!failing) return {};
  return fail(Code::communication, fmt::format("injected: {} never ends", operation));
}

std::unique_ptr<Request> FaultyComm::isend(Peer to, Tag tag, Bytes message) {
  auto operation = fmt::format("send to member {} with tag {}", to.value, tag.value);
  if (auto status = plan_->next(operation); !status) return finished_request(status);
  return std::make_unique<FaultyRequest>(inner_.isend(to, tag, message), plan_, std::move(operation));
}

std::unique_ptr<Request> FaultyComm::irecv(Peer from, Tag tag, MutableBytes into) {
  auto operation = fmt::format("receive from member {} with tag {}", from.value, tag.value);
  if (auto status = plan_->next(operation); !status) return finished_request(status);
  return std::make_unique<FaultyRequest>(inner_.irecv(from, tag, into), plan_, std::move(operation));
}

Result<std::optional<Envelope>> FaultyComm::probe(Tag tag) {
  // Not counted: how often a member looks depends on time, and a sweep must not.
  if (auto status = plan_->still_working(fmt::format("probe for tag {}", tag.value)); !status) {
    return fail(status.error());
  }
  return inner_.probe(tag);
}

std::unique_ptr<Request> FaultyComm::iallreduce(std::span<std::uint64_t> values, Reduce how) {
  if (auto status = plan_->next("allreduce"); !status) return finished_request(status);
  return std::make_unique<FaultyRequest>(inner_.iallreduce(values, how), plan_, "allreduce");
}

Result<std::vector<Buffer>> FaultyComm::allgather(Bytes mine) {
  if (auto status = plan_->next("allgather"); !status) return fail(status.error());
  return inner_.allgather(mine);
}

Result<Buffer> FaultyComm::broadcast(Bytes mine, Peer root) {
  if (auto status = plan_->next(fmt::format("broadcast from member {}", root.value)); !status) {
    return fail(status.error());
  }
  return inner_.broadcast(mine, root);
}

Status FaultyComm::barrier() {
  if (auto status = plan_->next("barrier"); !status) return status;
  return inner_.barrier();
}

Result<std::unique_ptr<Comm>> FaultyComm::split(std::optional<std::uint32_t> color, std::uint32_t key) {
  if (auto status = plan_->next("split"); !status) return fail(status.error());
  auto part = inner_.split(color, key);
  if (!part || !*part) return part;
  return std::make_unique<FaultyComm>(*std::move(part), plan_);
}

}  // namespace cairn::test
