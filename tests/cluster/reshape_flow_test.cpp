// How much is under way at once, and how many messages a rank gets, when many ranks change their number.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>

#include <gtest/gtest.h>

#include "reshape/transfer.hpp"
#include "support/thread_cluster.hpp"

namespace cairn::test {
namespace {

using reshape::Input;
using reshape::Sequence;

// The bytes of a member's requests that are not done.
struct Meter {
  std::uint64_t now = 0;
  std::uint64_t most = 0;
  void add(std::uint64_t bytes) { most = std::max(most, now += bytes); }
};

class MeteredRequest final : public Request {
 public:
  MeteredRequest(std::unique_ptr<Request> inner, Meter& meter, std::uint64_t bytes)
      : inner_(std::move(inner)), meter_(meter), bytes_(bytes) {
    meter_.add(bytes_);
  }
  ~MeteredRequest() override { meter_.now -= bytes_; }
  Result<bool> test() override { return inner_->test(); }

 private:
  std::unique_ptr<Request> inner_;
  Meter& meter_;
  std::uint64_t bytes_;
};

// Keeps receives back until so many orders are where they are to be answered, and no more arrive.
struct Gate {
  std::uint64_t orders = 0;
  std::atomic<bool> is_open{false};
};

class LateReceive final : public Request {
 public:
  LateReceive(std::function<std::unique_ptr<Request>()> start, const Gate& gate)
      : start_(std::move(start)), gate_(gate) {}
  Result<bool> test() override {
    if (!inner_ && gate_.is_open) inner_ = start_();
    return inner_ ? inner_->test() : false;
  }

 private:
  std::function<std::unique_ptr<Request>()> start_;
  const Gate& gate_;
  std::unique_ptr<Request> inner_;
};

// Counts the bytes that are being sent, and those of buffers that wait for a message.
class MeteredComm final : public Comm {
 public:
  explicit MeteredComm(Comm& inner, Gate* gate = nullptr) : inner_(inner), gate_(gate) {}
  [[nodiscard]] std::uint64_t most_sent() const { return sent_.most; }
  [[nodiscard]] std::uint64_t most_awaited() const { return awaited_.most; }
  [[nodiscard]] std::uint64_t reductions() const { return reductions_; }

  [[nodiscard]] Peer rank() const override { return inner_.rank(); }
  [[nodiscard]] std::uint32_t size() const override { return inner_.size(); }
  [[nodiscard]] std::unique_ptr<Request> isend(Peer to, Tag tag, Bytes message) override {
    return std::make_unique<MeteredRequest>(inner_.isend(to, tag, message), sent_, message.size());
  }
  [[nodiscard]] std::unique_ptr<Request> irecv(Peer from, Tag tag, MutableBytes into) override {
    if (tag == reshape::kOrderTag) ++orders_;
    auto start = [this, from, tag, into] { return inner_.irecv(from, tag, into); };
    std::unique_ptr<Request> request;
    if (gate_ != nullptr && tag >= reshape::answer_tag(0))
      request = std::make_unique<LateReceive>(std::move(start), *gate_);
    else
      request = start();
    return std::make_unique<MeteredRequest>(std::move(request), awaited_, into.size());
  }
  [[nodiscard]] Result<std::optional<Envelope>> probe(Tag tag) override { return inner_.probe(tag); }
  [[nodiscard]] std::unique_ptr<Request> iallreduce(std::span<std::uint64_t> values, Reduce how) override {
    ++reductions_;
    return inner_.iallreduce(values, how);
  }
  [[nodiscard]] Result<std::vector<Buffer>> allgather(Bytes mine) override { return inner_.allgather(mine); }
  [[nodiscard]] Result<Buffer> broadcast(Bytes mine, Peer root) override { return inner_.broadcast(mine, root); }
  [[nodiscard]] Status barrier() override { return inner_.barrier(); }
  [[nodiscard]] Result<std::unique_ptr<Comm>> split(std::optional<std::uint32_t> color, std::uint32_t key) override {
    return inner_.split(color, key);
  }
  void on_wait(std::function<bool()> work) override { inner_.on_wait(std::move(work)); }
  void idle(bool progress) override {
    if (gate_ != nullptr && !progress && orders_ >= gate_->orders) gate_->is_open = true;
    inner_.idle(progress);
  }

 private:
  Comm& inner_;
  Gate* gate_;
  std::uint64_t orders_ = 0;
  std::uint64_t reductions_ = 0;
  Meter sent_;
  Meter awaited_;
};

RegionInfo numbers(std::uint64_t count) {
  RegionInfo info;
  info.name = "x";
  info.type = ElementType::uint64;
  info.element_bytes = 8;
  info.shape = {count};
  return info;
}

// An old rank whose elements are those numbers of the sequence, from `first` on.
reshape::OldRank counting(std::uint32_t rank, std::uint64_t first, std::uint64_t count) {
  return {Rank{rank}, {numbers(count)}, [first](std::size_t, std::span<const reshape::Run> runs) {
            for (const auto& [offset, into] : runs) {
              for (std::size_t i = 0; i < into.size(); i += 8) {
                const std::uint64_t value = first + (offset + i) / 8;
                std::memcpy(into.data() + i, &value, 8);
              }
            }
            return Status{};
          }};
}

void expect_numbers(const std::vector<std::uint64_t>& memory, std::uint64_t first) {
  for (std::size_t i = 0; i < memory.size(); ++i) ASSERT_EQ(memory[i], first + i);
}

constexpr std::uint64_t kLimit = reshape::kBytesInFlight + 2 * kMiB;
constexpr std::uint32_t kMany = 40;
constexpr std::uint64_t kEach = 3 * kMiB / 8;  // elements: at least three orders

TEST(ReshapeFlow, rank_that_holds_all_sends_64_MiB_at_once_at_most) {
  std::atomic<std::uint64_t> most{0};
  Gate gate{std::uint64_t{3} * (kMany - 1)};  // its own part it reads itself
  run_cluster(kMany, [&](Comm& comm) {
    MeteredComm metered(comm, &gate);
    const std::uint32_t rank = comm.rank().value;
    std::vector<std::uint64_t> memory(kEach);
    Input input{1, {}, {{numbers(kEach), Sequence{}, std::as_writable_bytes(std::span(memory))}}};
    if (rank == 7) input.held.push_back(counting(0, 0, kMany * kEach));
    const auto finding = reshape::reshape(metered, input);
    ASSERT_TRUE(finding && !*finding);
    expect_numbers(memory, rank * kEach);
    if (rank == 7) most = metered.most_sent();
  });
  EXPECT_LE(most, kLimit);
  EXPECT_GE(most, reshape::kBytesInFlight / 2);
}

TEST(ReshapeFlow, rank_that_wants_all_has_64_MiB_under_way_at_most) {
  std::atomic<std::uint64_t> most{0};
  run_cluster(kMany, [&](Comm& comm) {
    MeteredComm metered(comm);
    const std::uint32_t rank = comm.rank().value;
    std::vector<std::uint64_t> memory(rank == 3 ? kMany * kEach : 0);
    const Sequence::Part part{0, memory.size()};
    const Input input{kMany,
                      {counting(rank, rank * kEach, kEach)},
                      {{numbers(memory.size()), Sequence{part, {}}, std::as_writable_bytes(std::span(memory))}}};
    const auto finding = reshape::reshape(metered, input);
    ASSERT_TRUE(finding && !*finding);
    expect_numbers(memory, 0);
    if (rank == 3) most = metered.most_awaited();
  });
  EXPECT_LE(most, kLimit);
  EXPECT_GE(most, reshape::kBytesInFlight / 2);
}

// Of 4 members, 1 holds all, and another reaches it. What the others order comes in pieces.
TEST(ReshapeFlow, orders_nothing_of_what_it_holds_or_reaches) {
  std::array<std::uint64_t, 4> most{};
  run_cluster(4, [&](Comm& comm) {
    MeteredComm metered(comm);
    const std::uint32_t rank = comm.rank().value;
    std::vector<std::uint64_t> memory(4 * kEach);
    const reshape::OldRank all = counting(0, 0, 4 * 4 * kEach);
    Input input{1, {}, {{numbers(memory.size()), Sequence{}, std::as_writable_bytes(std::span(memory))}}};
    if (rank == 1) input.held.push_back(all);
    if (rank == 2) input.reach = [&all](Rank) { return &all; };
    const auto finding = reshape::reshape(metered, input);
    ASSERT_TRUE(finding && !*finding);
    expect_numbers(memory, rank * 4 * kEach);
    most[rank] = metered.most_awaited();
  });
  for (const std::uint32_t rank : {1U, 2U}) EXPECT_LE(most[rank], 64 * kKiB) << rank;
  for (const std::uint32_t rank : {0U, 3U}) EXPECT_GE(most[rank], kMiB) << rank;
}

// A member that reaches something else than what its holder has leaves it to the holder.
TEST(ReshapeFlow, orders_what_is_odd_from_its_holder) {
  run_cluster(2, [&](Comm& comm) {
    const std::uint32_t rank = comm.rank().value;
    std::vector<std::uint64_t> memory(kEach);
    reshape::OldRank odd = counting(0, 5, 2 * kEach);
    odd.regions = {numbers(kEach / 2)};
    Input input{1, {}, {{numbers(kEach), Sequence{}, std::as_writable_bytes(std::span(memory))}}};
    if (rank == 0) input.held.push_back(counting(0, 0, 2 * kEach));
    if (rank == 1) input.reach = [&odd](Rank) { return &odd; };
    const auto finding = reshape::reshape(comm, input);
    ASSERT_TRUE(finding && !*finding);
    expect_numbers(memory, rank * kEach);
  });
}

// A job of one member, whose reductions end at once: with two, their number would depend on time.
TEST(ReshapeFlow, member_that_is_busy_takes_part_in_few_reductions) {
  run_cluster(1, [&](Comm& comm) {
    MeteredComm metered(comm);
    reshape::Quiescence quiescence(metered, 64);
    for (int call = 0; call < 6400; ++call) {
      const auto ended = quiescence.test(1);
      ASSERT_TRUE(ended && !*ended);
    }
    EXPECT_LE(metered.reductions(), 6400U / 64);
    EXPECT_GE(metered.reductions(), 6400U / 66);
    const auto ended = quiescence.test(0);
    EXPECT_TRUE(ended && *ended);
  });
}

// The most messages that a rank sends or gets, when so many old ranks and as many new ones have columns of one array.
std::uint64_t messages_of_columns(std::uint32_t ranks) {
  const ThreadWorld world(ranks);
  const std::uint64_t width = 4;
  const std::uint64_t columns = width * ranks;
  constexpr std::uint64_t kRows = 64;
  run_cluster(world, [&](Comm& comm) {
    const std::uint64_t first = width * comm.rank().value;
    RegionInfo info = numbers(kRows);
    info.shape.push_back(width);
    std::vector<std::uint64_t> memory(kRows * width);
    Input input{ranks, {counting(comm.rank().value, 0, 0)}, {}};
    // New columns begin two elements before the old ones; the first rank's are narrower, the last one's wider.
    std::uint64_t begin = first < 2 ? 0 : first - 2;
    const std::uint64_t end = comm.rank().value + 1 == ranks ? columns : first + 2;
    reshape::Block block{{kRows, columns}, {0, begin}, {}, {}, {}};
    RegionInfo old = info;
    old.global_shape = block.shape;
    old.global_offset = {0, first};
    input.held.front().regions = {old};
    info.shape[1] = end - begin;
    memory.resize(kRows * (end - begin));
    input.wanted.push_back({info, block, std::as_writable_bytes(std::span(memory))});
    const auto finding = reshape::reshape(comm, input);
    ASSERT_TRUE(finding && !*finding);
  });
  std::uint64_t most = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    most = std::max({most, world.traffic(Peer{rank}).messages, world.traffic(Peer{rank}).received});
  return most;
}

// In a directory of rows, each rank would write to all.
TEST(ReshapeFlow, messages_of_a_rank_do_not_grow_with_the_number_of_ranks) {
  const std::uint64_t of_few = messages_of_columns(16);
  const std::uint64_t of_many = messages_of_columns(256);
  EXPECT_LE(of_many, of_few);
}

}  // namespace
}  // namespace cairn::test
