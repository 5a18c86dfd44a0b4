// A replacement recomputes steps together with spares, before it continues from there alone.
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "session/part_computer.hpp"
#include "session/session_impl.hpp"

namespace cairn {

// Whatever goes wrong here, the replacement still has the restored state and all messages, and computes alone.
void SessionImpl::recompute_with_helpers() {
  Application& app = application_;
  const auto recompute = std::exchange(hooks_.recompute, {});
  if (!recompute || !catches_up()) return;
  const auto alone = [&](const Error& why) {
    const std::string text = fmt::format("rank {} recomputes its steps alone: {}", app.rank.value,
                                         why.code == Code::communication ? "a process has died" : why.text());
    const bool is_usual = why.code == Code::unrecoverable || why.code == Code::communication;
    is_usual ? setting_.log.info("{}", text) : setting_.log.warning("{}", text);
  };
  if (!app.on_loss) return alone({Code::unrecoverable, "it has not called on_loss()", {}});
  auto steps = app.journal->steps_to_recompute();
  if (!steps) return alone(steps.error());
  const std::uint64_t end = steps->end;
  const std::uint64_t count = steps->end - steps->begin;
  const auto span = connection_->trace.span("recompute");
  const auto start = std::chrono::steady_clock::now();
  auto parts = recompute(*steps, splitter_of(app.on_loss->split));
  if (!parts) return alone(parts.error());
  std::vector<Buffer> states;
  for (replay::PartResult& part : *parts) states.push_back(std::move(part.state));
  if (auto accepted = app.journal->recomputed(end, std::move(*parts)); !accepted) return alone(accepted.error());
  app.on_loss->merge(states, count);
  app.calls = end;
  const auto took = std::chrono::steady_clock::now() - start;
  setting_.log.info("rank {} and {} spare{} have recomputed {} steps, to snapshot() call {}, in {:.3f} s",
                    app.rank.value, states.size() - 1, states.size() == 2 ? "" : "s", count, end,
                    std::chrono::duration<double>(took).count());
}

}  // namespace cairn
