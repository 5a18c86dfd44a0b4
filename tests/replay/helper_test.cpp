// A lost rank's steps, recomputed by its replacement and helpers: a chain of cells, of which each rank has some, and
// each part fewer. Members are threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "codec/crc32c.hpp"
#include "replay/helper_team.hpp"
#include "replay/journal.hpp"
#include "replay/part_work.hpp"
#include "support/thread_cluster.hpp"

namespace cairn::test {
namespace {

using replay::Agreement;
using replay::HelperTeam;
using replay::Journal;
using replay::LostSteps;
using replay::PartOrder;
using replay::PartResult;
using replay::PartWork;

using Cells = std::vector<std::uint64_t>;

constexpr std::uint32_t kRanks = 3;
constexpr std::uint32_t kLost = 1;
constexpr std::uint64_t kBegin = 4;    // the snapshot() call that is restored
constexpr std::uint64_t kEnd = 10;     // that all survivors have made
constexpr std::uint64_t kNewest = 11;  // that the fastest has made
constexpr std::uint64_t kMemory = 1U << 20U;
constexpr std::size_t kCells = 11;
constexpr std::int32_t kUp = 1;
constexpr std::int32_t kDown = 2;

Bytes bytes_of_cells(const Cells& cells) { return std::as_bytes(std::span(cells)); }
Bytes bytes_of_cell(const std::uint64_t& cell) { return std::as_bytes(std::span(&cell, 1)); }
Buffer buffer_of(Bytes bytes) { return {bytes.begin(), bytes.end()}; }
Cells cells_of(Bytes bytes) {
  Cells cells(bytes.size() / sizeof(std::uint64_t));
  std::memcpy(cells.data(), bytes.data(), bytes.size());
  return cells;
}
std::uint64_t cell_of(Bytes bytes) { return cells_of(bytes).at(0); }

void advance(Cells& cells, std::uint64_t above, std::uint64_t below) {
  Cells next(cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i)
    next[i] = cells[i] * 31 + (i == 0 ? above : cells[i - 1]) + 7 * (i + 1 == cells.size() ? below : cells[i + 1]);
  cells = next;
}

// The ranks of a chain, in which each exchanges its outermost cells with the next in every step.
struct Chain {
  Chain() {
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      journals.emplace_back(rank, kMemory);
      EXPECT_TRUE(journals.back().start(kBegin));
      for (std::size_t i = 0; i < kCells; ++i) cells[rank].push_back(rank * 100 + i);
    }
    restored = cells[kLost];
    for (std::uint64_t step = kBegin; step < kEnd; ++step) take_step(step);
    at_end = cells[kLost];
    // One survivor has sent in the next step, and the lost rank, too.
    send(0, kLost, kDown, cells[0].back());
    send(kLost, 0, kUp, cells[kLost].front());
    receive(0, kLost, kUp);
  }
  void send(std::uint32_t from, std::uint32_t to, std::int32_t tag, std::uint64_t cell) {
    EXPECT_TRUE(journals[from].sends({to, tag}, bytes_of_cell(cell)));
    under_way[{from, to, tag}] = cell;
  }
  std::uint64_t receive(std::uint32_t at, std::uint32_t from, std::int32_t tag) {
    const std::uint64_t cell = under_way[{from, at, tag}];
    journals[at].received(journals[at].awaits({from, tag}), {sizeof cell, crc32c(bytes_of_cell(cell))});
    return cell;
  }
  void take_step(std::uint64_t step) {
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      if (rank > 0) send(rank, rank - 1, kUp, cells[rank].front());
      if (rank + 1 < kRanks) send(rank, rank + 1, kDown, cells[rank].back());
    }
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      const std::uint64_t above = rank > 0 ? receive(rank, rank - 1, kDown) : 0;
      const std::uint64_t below = rank + 1 < kRanks ? receive(rank, rank + 1, kUp) : 0;
      advance(cells[rank], above, below);
    }
    for (Journal& journal : journals) journal.enters(step + 1);
  }
  // The replacement of the lost rank, which has got what the others ship.
  Journal replace(const Agreement& agreement) {
    Journal journal(kLost, kMemory);
    EXPECT_TRUE(journal.start(kBegin));
    std::map<std::uint32_t, Buffer> shipped;
    for (const std::uint32_t rank : {0U, 2U})
      if (!std::ranges::binary_search(agreement.replaced, rank))
        shipped[rank] = journals[rank].shipments(agreement, kBegin)->at(kLost);
    EXPECT_TRUE(journal.goes_on(agreement, kBegin, shipped));
    return journal;
  }

  std::deque<Journal> journals;
  Cells cells[kRanks];
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::int32_t>, std::uint64_t> under_way;
  Cells restored;
  Cells at_end;
};

Agreement agreement_of(std::vector<std::uint32_t> replaced) {
  Agreement agreement;
  agreement.ranks = kRanks;
  agreement.newest = kNewest;
  agreement.oldest = kEnd;
  agreement.replaced = std::move(replaced);
  return agreement;
}

Result<std::vector<Buffer>> split(const Cells& cells, std::uint32_t parts) {
  std::vector<Buffer> states;
  for (std::uint32_t part = 0; part < parts; ++part) {
    const std::size_t begin = cells.size() * part / parts;
    const std::size_t end = cells.size() * (part + 1) / parts;
    states.push_back(buffer_of(bytes_of_cells(
        Cells(cells.begin() + static_cast<std::ptrdiff_t>(begin), cells.begin() + static_cast<std::ptrdiff_t>(end)))));
  }
  return states;
}

Cells merged(const std::vector<PartResult>& parts) {
  Cells all;
  for (const PartResult& part : parts) {
    const Cells cells = cells_of(part.state);
    all.insert(all.end(), cells.begin(), cells.end());
  }
  return all;
}

// What an application does with a part. `at_step`: before each step.
Result<Buffer> compute(PartWork& work, const std::function<Status(std::uint64_t step)>& at_step = {}) {
  Cells cells = cells_of(work.state());
  const std::uint32_t last = work.parts() - 1;
  for (std::uint64_t step = 0;; ++step) {
    const auto more = work.next_step();
    if (!more) return fail(more.error());
    if (!*more) return buffer_of(bytes_of_cells(cells));
    if (at_step)
      if (auto status = at_step(step); !status) return fail(status.error());
    Status sent;
    if (sent && work.part() > 0) sent = work.send_to_part(work.part() - 1, kUp, bytes_of_cell(cells.front()));
    if (sent && work.part() < last) sent = work.send_to_part(work.part() + 1, kDown, bytes_of_cell(cells.back()));
    if (sent && work.part() == 0) sent = work.send(kLost - 1, kUp, bytes_of_cell(cells.front()));
    if (sent && work.part() == last) sent = work.send(kLost + 1, kDown, bytes_of_cell(cells.back()));
    if (!sent) return fail(sent.error());
    const auto above =
        work.part() > 0 ? work.receive_from_part(work.part() - 1, kDown) : work.receive(kLost - 1, kDown);
    if (!above) return fail(above.error());
    const auto below = work.part() < last ? work.receive_from_part(work.part() + 1, kUp) : work.receive(kLost + 1, kUp);
    if (!below) return fail(below.error());
    advance(cells, cell_of(*above), cell_of(*below));
  }
}

// A team of threads, of which some die.
struct Team {
  explicit Team(std::uint32_t members) : is_dead(members), steps(members) {}

  HelperTeam::Setting setting(Comm& comm) {
    return {comm, [this](std::uint32_t member) { return is_dead[member].load(); }, std::chrono::minutes(1)};
  }
  // Member 0 leads; returns what it has got.
  Result<std::vector<PartResult>> run(const LostSteps& lost, const HelperTeam::Split& cut,
                                      const HelperTeam::Compute& compute_part) {
    Result<std::vector<PartResult>> results = fail(Code::unrecoverable, "nothing was computed");
    run_cluster(static_cast<std::uint32_t>(is_dead.size()), [&](Comm& comm) {
      const std::uint32_t me = comm.rank().value;
      HelperTeam team(setting(comm));
      if (me == 0) {
        results = team.recompute(lost, cut, compute_part);
        is_over = true;
      }
      while (!is_dead[me] && !is_over) {
        const auto helped = team.help(compute_part);
        if (!helped) return;
        if (*helped > 0) steps[me] = *helped;
        comm.idle(*helped > 0);
      }
    });
    return results;
  }
  std::vector<std::atomic<bool>> is_dead;
  std::vector<std::uint64_t> steps;  // by member: that it has computed as a helper
  std::atomic<bool> is_over = false;
};

LostSteps steps_of(const Journal& journal) {
  auto steps = journal.steps_to_recompute();
  EXPECT_TRUE(steps) << (steps ? "" : steps.error().text());
  return steps ? std::move(*steps) : LostSteps{};
}

TEST(Helpers, come_to_the_state_and_the_log_of_the_lost_rank) {
  for (const std::uint32_t members : {2U, 3U, 5U}) {
    Chain chain;
    const Agreement agreement = agreement_of({kLost});
    Journal journal = chain.replace(agreement);
    const LostSteps lost = steps_of(journal);
    EXPECT_EQ(lost.begin, kBegin);
    EXPECT_EQ(lost.end, kEnd);
    Team team(members);
    auto results = team.run(
        lost, [&](std::uint32_t parts) { return split(chain.restored, parts); },
        [](PartWork& work) { return compute(work); });
    ASSERT_TRUE(results) << results.error().text();
    for (std::uint32_t member = 1; member < members; ++member) EXPECT_EQ(team.steps[member], kEnd - kBegin) << member;
    EXPECT_EQ(merged(*results), chain.at_end) << members;
    ASSERT_TRUE(journal.recomputed(kEnd, std::move(*results)));
    EXPECT_EQ(journal.epoch(), kEnd);
    EXPECT_TRUE(journal.is_at_restore());
    // A neighbour that is lost now gets from it what it would have got from the dead rank.
    const Agreement next = agreement_of({2});
    EXPECT_EQ(journal.shipments(next, kBegin)->at(2), chain.journals[kLost].shipments(next, kBegin)->at(2));
  }
}

TEST(Helpers, leave_the_rest_to_the_replacement) {
  Chain chain;
  const Agreement agreement = agreement_of({kLost});
  Journal journal = chain.replace(agreement);
  Team team(2);
  auto results = team.run(
      steps_of(journal), [&](std::uint32_t parts) { return split(chain.restored, parts); },
      [](PartWork& work) { return compute(work); });
  ASSERT_TRUE(results) << results.error().text();
  ASSERT_TRUE(journal.recomputed(kEnd, std::move(*results)));
  EXPECT_TRUE(journal.catches_up());
  EXPECT_TRUE(journal.began_later());
  const auto sent = journal.sends({0, kUp}, bytes_of_cell(chain.at_end.front()));
  ASSERT_TRUE(sent);
  EXPECT_FALSE(sent->must_send);
  EXPECT_FALSE(journal.is_at_restore());
  const auto shipped = journal.shipped(journal.awaits({0, kDown}));
  ASSERT_TRUE(shipped && *shipped);
  EXPECT_EQ(cell_of(**shipped), chain.cells[0].back());
  journal.enters(kNewest);
  EXPECT_FALSE(journal.catches_up());
}

TEST(Helpers, are_fewer_after_one_has_died_and_come_to_the_same) {
  for (const std::uint64_t at : {0U, 3U, 5U}) {
    Chain chain;
    const Agreement agreement = agreement_of({kLost});
    Journal journal = chain.replace(agreement);
    Team team(3);
    auto results = team.run(
        steps_of(journal), [&](std::uint32_t parts) { return split(chain.restored, parts); },
        [&](PartWork& work) {
          return compute(work, [&](std::uint64_t step) -> Status {
            if (work.parts() != 3 || work.part() != 1 || step != at) return {};
            team.is_dead[1] = true;
            return fail(Code::communication, "it is dead");
          });
        });
    ASSERT_TRUE(results) << results.error().text();
    EXPECT_EQ(results->size(), 2U);
    EXPECT_EQ(team.steps[2], kEnd - kBegin);
    EXPECT_EQ(merged(*results), chain.at_end) << at;
    EXPECT_TRUE(journal.recomputed(kEnd, std::move(*results)));
  }
}

TEST(Helpers, are_given_up_if_none_is_left_or_one_fails) {
  Chain chain;
  const Agreement agreement = agreement_of({kLost});
  const Journal journal = chain.replace(agreement);
  const LostSteps lost = steps_of(journal);
  const auto cut = [&](std::uint32_t parts) { return split(chain.restored, parts); };
  Team dies(2);
  const auto alone = dies.run(lost, cut, [&](PartWork& work) {
    return compute(work, [&](std::uint64_t step) -> Status {
      if (work.part() != 1 || step != 2) return {};
      dies.is_dead[1] = true;
      return fail(Code::communication, "it is dead");
    });
  });
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().code, Code::unrecoverable);
  for (const std::uint32_t failing : {0U, 1U}) {
    Team fails(3);
    const auto failed = fails.run(lost, cut, [&](PartWork& work) {
      return compute(work, [&](std::uint64_t step) -> Status {
        if (work.part() != failing || step != 2) return {};
        return fail(Code::mismatch, "fails in step 2");
      });
    });
    ASSERT_FALSE(failed);
    EXPECT_THAT(failed.error().text(), testing::HasSubstr("fails in step 2"));
  }
  Team miscut(2);
  const auto wrong = miscut.run(
      lost, [&](std::uint32_t parts) { return split(chain.restored, parts + 1); },
      [](PartWork& work) { return compute(work); });
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Code::invalid_argument);
}

// What a wrong part can do: the results are refused, and the replacement can still compute alone.
TEST(Helpers, are_refused_if_their_messages_are_not_those_of_the_lost_rank) {
  const auto whole = [](const Chain& chain, Journal& journal) {
    const Agreement agreement = agreement_of({kLost});
    Team team(2);
    auto results = team.run(
        steps_of(journal), [&](std::uint32_t parts) { return split(chain.restored, parts); },
        [](PartWork& work) { return compute(work); });
    return results ? std::move(*results) : std::vector<PartResult>(2);
  };
  const auto change_number = [](replay::Number number) {
    ++number.lane.tag;
    return number;
  };
  const std::vector<std::function<void(std::vector<PartResult>&)>> changes = {
      [](auto& parts) { parts[0].sent.begin()->second[0] ^= std::byte{1}; },
      [](auto& parts) { parts[0].sent.erase(parts[0].sent.begin()); },
      [&](auto& parts) { parts[0].sent.emplace(change_number(parts[0].sent.begin()->first), Buffer{}); },
      [](auto& parts) { parts[1].taken.erase(parts[1].taken.begin()); },
      [](auto& parts) { parts[1].taken.insert(*parts[0].taken.begin()); },
      [](auto& parts) { parts[1].sent.insert(*parts[0].sent.begin()); },
  };
  for (std::size_t i = 0; i <= changes.size(); ++i) {
    const bool is_right = i == changes.size();
    Chain chain;
    Journal journal = chain.replace(agreement_of({kLost}));
    auto parts = whole(chain, journal);
    if (!is_right) changes[i](parts);
    const auto accepted = journal.recomputed(kEnd, std::move(parts));
    EXPECT_EQ(accepted.has_value(), is_right) << i;
    if (is_right) continue;
    EXPECT_EQ(accepted.error().code, Code::mismatch) << i;
    EXPECT_EQ(journal.epoch(), kBegin);
    const auto sent = journal.sends({0, kUp}, bytes_of_cell(chain.restored.front()));
    ASSERT_TRUE(sent) << i;
    EXPECT_FALSE(sent->must_send) << i;
  }
}

TEST(Helpers, have_nothing_to_do_where_they_cannot_know_the_messages) {
  const auto why = [](const Agreement& agreement, std::int32_t tag, std::uint64_t channel) {
    Chain chain;
    if (tag != 0) {
      // Before the others it is the oldest step.
      EXPECT_TRUE(chain.journals[0].sends({kLost, tag, channel}, {}));
    }
    Agreement all = agreement;
    if (tag != 0) all.oldest = kEnd + 1;
    return chain.replace(all).steps_to_recompute().has_value();
  };
  EXPECT_TRUE(why(agreement_of({kLost}), 0, 0));
  EXPECT_TRUE(why(agreement_of({kLost}), 5, replay::kSessionChannel));
  EXPECT_TRUE(why(agreement_of({kLost}), replay::kCollectiveTag, replay::kSessionChannel));
  EXPECT_FALSE(why(agreement_of({kLost}), 5, 77));
  EXPECT_FALSE(why(agreement_of({kLost}), replay::kCollectiveTag, 77));
  EXPECT_FALSE(why(agreement_of({kLost, 2}), 0, 0));
  Agreement none = agreement_of({kLost});
  none.oldest = kBegin;
  EXPECT_FALSE(why(none, 0, 0));
}

PartOrder order_of(std::uint32_t part, std::vector<std::uint32_t> members) {
  PartOrder order;
  order.steps.rank = 1;
  order.steps.ranks = 3;
  order.steps.begin = 4;
  order.steps.end = 5;
  order.part = part;
  order.members = std::move(members);
  return order;
}

TEST(PartOrder, is_read_as_it_was_written_and_damage_is_found) {
  const replay::Number number{{4, 2, 7}, 1};
  PartOrder order = order_of(1, {0, 2});
  order.steps.messages.emplace(number, Buffer(3));
  order.state = Buffer(5);
  const Buffer bytes = encode(order);
  const auto read = replay::decode_part_order(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->steps.messages, order.steps.messages);
  EXPECT_EQ(read->members, order.members);
  EXPECT_EQ(read->state, order.state);
  PartResult result;
  result.state = Buffer(2);
  result.sent = order.steps.messages;
  result.taken.insert(number);
  const Buffer of_result = encode(result);
  const auto read_result = replay::decode_part_result(of_result);
  ASSERT_TRUE(read_result);
  EXPECT_EQ(read_result->sent, result.sent);
  EXPECT_EQ(read_result->taken, result.taken);
  for (std::size_t bytes_left = 0; bytes_left < bytes.size(); ++bytes_left)
    EXPECT_FALSE(replay::decode_part_order(Bytes(bytes).first(bytes_left)));
  for (std::size_t bytes_left = 0; bytes_left < of_result.size(); ++bytes_left)
    EXPECT_FALSE(replay::decode_part_result(Bytes(of_result).first(bytes_left)));
}

TEST(PartWork, says_what_is_wrong_with_a_part) {
  run_cluster(2, [](Comm& comm) {
    HelperTeam team({comm, [](std::uint32_t) { return false; }, std::chrono::minutes(1)});
    if (comm.rank().value != 0) return;
    PartWork work(team, order_of(0, {0, 1}));
    EXPECT_EQ(work.send(0, 1, {}).error().code, Code::invalid_argument);
    EXPECT_EQ(work.receive(0, 1).error().code, Code::invalid_argument);
    EXPECT_TRUE(work.next_step().value());
    EXPECT_EQ(work.receive(0, 1).error().code, Code::mismatch);
    for (const std::uint32_t part : {0U, 2U})
      EXPECT_EQ(work.send_to_part(part, 1, {}).error().code, Code::invalid_argument);
    EXPECT_EQ(std::move(work).result({}).error().code, Code::invalid_argument);
  });
}

}  // namespace
}  // namespace cairn::test
