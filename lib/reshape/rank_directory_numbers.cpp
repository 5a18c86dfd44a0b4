#include <utility>

#include "reshape/rank_directory.hpp"
#include "reshape/tiles.hpp"
#include "reshape/wire.hpp"

namespace cairn::reshape {
namespace {

struct Before {
  Rank old_rank;
  std::vector<std::uint64_t> elements;  // of each sequence, in the order of the roster
};
void fields(auto& io, Before& m) { io(m.old_rank), io(m.elements); }

struct Answered {  // as sent
  Peer holder;
  std::optional<std::vector<std::uint64_t>> shape;
};
void fields(auto& io, Answered& m) { io(m.holder), io(m.shape); }

void add(std::vector<std::uint64_t>& sums, const std::vector<std::uint64_t>& more) {
  for (std::size_t i = 0; i < sums.size() && i < more.size(); ++i) sums[i] += more[i];
}

// The sums of what all lower members have (Hillis and Steele 1986, DOI 10.1145/7902.7903). One exchange per doubling.
Result<std::vector<std::uint64_t>> sums_before(Comm& comm, Post& post, const std::vector<std::uint64_t>& mine) {
  std::vector<std::uint64_t> before(mine.size(), 0);
  for (std::uint64_t distance = 1; distance < comm.size(); distance *= 2) {
    Outbox letters;
    if (comm.rank().value + distance < comm.size()) {
      std::vector<std::uint64_t> sums = before;
      add(sums, mine);
      letters[static_cast<std::uint32_t>(comm.rank().value + distance)] = to_bytes(sums);
    }
    const auto taken = post.exchange(comm, letters);
    if (!taken) return fail(taken.error());
    for (const Letter& letter : *taken)
      add(before, from_bytes<std::vector<std::uint64_t>>(letter.bytes).value_or(std::vector<std::uint64_t>{}));
  }
  return before;
}

std::vector<std::uint32_t> sequences_of(const Roster& roster) {
  std::vector<std::uint32_t> sequences;
  for (std::uint32_t region = 0; region < roster.size(); ++region) {
    if (roster.entries()[region].kind == Kind::sequence) sequences.push_back(region);
  }
  return sequences;
}

}  // namespace

Status RankDirectory::place_sequences(Comm& comm, Post& post, const Roster& roster, Holdings& holdings) const {
  const auto sequences = sequences_of(roster);
  const auto counts_of = [&](const Filed& filed) {
    std::vector<std::uint64_t> counts;
    for (const std::uint32_t region : sequences) counts.push_back(elements(filed, region));
    return counts;
  };
  std::vector<std::uint64_t> all(sequences.size(), 0);
  for (const Filed& filed : filed_) add(all, counts_of(filed));
  auto before = sums_before(comm, post, all);
  if (!before) return fail(before.error());

  std::map<std::uint32_t, std::vector<Before>> of_holder;
  for (std::uint32_t i = 0; i < filed_.size(); ++i) {
    of_holder[filed_[i].holder->value].push_back({Rank{first_ + i}, *before});
    add(*before, counts_of(filed_[i]));
  }
  Outbox letters;
  for (auto& [to, some] : of_holder) letters[to] = to_bytes(some);
  const auto taken = post.exchange(comm, letters);
  if (!taken) return fail(taken.error());
  for (const Letter& letter : *taken) {
    for (const Before& one : from_bytes<std::vector<Before>>(letter.bytes).value_or(std::vector<Before>{})) {
      for (std::size_t i = 0; i < sequences.size() && i < one.elements.size(); ++i)
        holdings.place_sequence(one.old_rank, sequences[i], one.elements[i]);
    }
  }
  return {};
}

// Answers come from each member in the order of the questions to it.
Result<std::vector<RankDirectory::Answer>> RankDirectory::ask(Comm& comm, Post& post,
                                                              const std::vector<Question>& questions) const {
  std::map<std::uint32_t, std::vector<std::uint32_t>> asked;  // pairs of old rank and region
  for (const Question& question : questions) {
    auto& list = asked[member_of(question.old_rank).value];
    list.push_back(question.old_rank.value);
    list.push_back(question.region);
  }
  Outbox letters;
  for (auto& [to, list] : asked) letters[to] = to_bytes(list);
  const auto received = post.exchange(comm, letters);
  if (!received) return fail(received.error());

  Outbox replies;
  for (const Letter& letter : *received) {
    const auto list = from_bytes<std::vector<std::uint32_t>>(letter.bytes).value_or(std::vector<std::uint32_t>{});
    std::vector<Answered> answers;
    for (std::size_t i = 0; i + 1 < list.size(); i += 2) {
      const Filed* filed = find(Rank{list[i]});
      Answered& answer = answers.emplace_back();
      if (filed == nullptr || !filed->holder || list[i + 1] >= filed->shapes.size()) continue;
      answer = {*filed->holder, filed->shapes[list[i + 1]]};
    }
    replies[letter.from.value] = to_bytes(answers);
  }
  const auto replied = post.exchange(comm, replies);
  if (!replied) return fail(replied.error());

  std::map<std::uint32_t, std::vector<Answered>> answers_of;
  for (const Letter& letter : *replied)
    answers_of[letter.from.value] = from_bytes<std::vector<Answered>>(letter.bytes).value_or(std::vector<Answered>{});
  std::map<std::uint32_t, std::size_t> next;
  std::vector<Answer> answers;
  for (const Question& question : questions) {
    const std::uint32_t member = member_of(question.old_rank).value;
    const auto& of_member = answers_of[member];
    const std::size_t i = next[member]++;
    answers.push_back(i < of_member.size() ? Answer{of_member[i].holder, of_member[i].shape} : Answer{});
  }
  return answers;
}

}  // namespace cairn::reshape
