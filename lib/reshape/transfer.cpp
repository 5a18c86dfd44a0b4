#include "reshape/transfer.hpp"

#include <utility>

namespace cairn::reshape {
namespace {

constexpr unsigned kPause = 64;

}  // namespace

Transfer::Transfer(Comm& comm, const Plan& plan)
    : supplier_(comm, plan.holdings), customer_(comm, plan), quiescence_(comm, kPause) {}

Result<bool> Transfer::advance() {
  const auto supplied = supplier_.advance();
  if (!supplied) return supplied;
  const auto taken = customer_.advance();
  if (!taken) return taken;
  // What others wait for comes first.
  moved_ = *supplied || *taken || customer_.read_piece();
  if (!everybody_has_all_) {
    const auto ended = quiescence_.test(customer_.outstanding());
    if (!ended) return ended;
    everybody_has_all_ = *ended;
  }
  return everybody_has_all_ && supplier_.has_sent_all();
}

Result<Findings> reshape(Comm& comm, const Input& input) {
  auto planned = plan_reshape(comm, input);
  if (!planned) return fail(planned.error());
  if (planned->finding) return std::move(planned->finding);
  Transfer transfer(comm, planned->plan);
  for (;;) {
    const auto done = transfer.advance();
    if (!done) return fail(done.error());
    if (*done) break;
    comm.idle(transfer.has_moved());
  }
  return agree_on(comm, transfer.finding());
}

}  // namespace cairn::reshape
