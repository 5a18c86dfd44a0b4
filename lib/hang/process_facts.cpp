#include "hang/process_facts.hpp"

namespace cairn::hang {

ProcessFacts facts_of(const std::optional<ProcessState>& before, const ProcessState& now) {
  using State = ProcessFacts::State;
  constexpr std::uint64_t kTicksUsed = 2;  // less has a thread that only looks around now and then
  ProcessFacts facts;
  switch (now.state) {
    case 'T':
    case 't': facts.state = State::stopped; break;
    case 'D': facts.state = State::waits_for_disk; break;
    case 'R': facts.state = State::runs; break;
    default: facts.state = State::sleeps;
  }
  if (!before) return facts;
  const bool used = now.ticks >= before->ticks + kTicksUsed;
  // One that is ready to run computes, though others of its host may leave it no processor for a while.
  const bool is_ready = before->state == 'R' || now.state == 'R';
  if (used || !is_ready) facts.used_processor = used;
  return facts;
}

}  // namespace cairn::hang
