// Programs of several ranks whose sends depend on nothing but what they have received from named ranks: each rank's
// operations, drawn from a seed. None of them deadlocks, however long messages take.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace cairn::test {

struct Operation {
  enum class Kind { send, isend, receive, receive_any, ireceive, wait_all, restore, snapshot };
  Kind kind{};
  std::uint32_t peer = 0;
  std::int32_t tag = 0;
  std::uint32_t words = 0;  // of a message
};

using Program = std::vector<std::vector<Operation>>;  // by rank

// `any_before_restore`: ranks receive from any rank before they restore, too.
inline Program draw_program(std::mt19937_64& random, std::uint32_t ranks, std::uint32_t rounds,
                            bool any_before_restore = false) {
  using Kind = Operation::Kind;
  const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
  Program program(ranks);
  const std::uint32_t first = below(3);  // the round before which all restore
  for (std::uint32_t round = 0; round < first + rounds; ++round) {
    if (round == first)
      for (auto& rank : program) rank.push_back({Kind::restore, 0, 0, 0});
    struct Message {
      std::uint32_t from, to;
      std::int32_t tag;
      std::uint32_t words;
    };
    std::vector<Message> messages;
    for (std::uint32_t i = 1 + below(2 * ranks); i > 0; --i) {
      const std::uint32_t from = below(ranks);
      const std::uint32_t to = (from + 1 + below(ranks - 1)) % ranks;
      messages.push_back(
          {from, to, static_cast<std::int32_t>(below(2)), below(3) == 0 ? 40 + below(40) : 1 + below(4)});
    }
    if ((round > first || (any_before_restore && round < first)) && below(3) == 0) {
      // Ranks receive in any order, with a tag of this round: what is there decides.
      const auto tag = static_cast<std::int32_t>(100 + round);
      for (const Message& m : messages) program[m.from].push_back({Kind::send, m.to, tag, 1 + m.words % 8});
      for (const Message& m : messages) program[m.to].push_back({Kind::receive_any, 0, tag, 0});
    } else if (below(2) == 0) {
      // One after another: each rank makes its calls in the order of all messages.
      for (const Message& m : messages) {
        program[m.from].push_back({Kind::send, m.to, m.tag, m.words});
        program[m.to].push_back({Kind::receive, m.from, m.tag, m.words});
      }
    } else {
      for (const Message& m : messages) program[m.to].push_back({Kind::ireceive, m.from, m.tag, m.words});
      for (const Message& m : messages) program[m.from].push_back({Kind::isend, m.to, m.tag, m.words});
      for (auto& rank : program) rank.push_back({Kind::wait_all, 0, 0, 0});
    }
    if (round >= first && below(3) != 0)
      for (auto& rank : program) rank.push_back({Kind::snapshot, 0, 0, 0});
  }
  return program;
}

}  // namespace cairn::test
