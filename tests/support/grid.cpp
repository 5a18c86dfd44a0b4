#include "support/grid.hpp"

#include <numeric>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/steps.hpp"

namespace cairn::test {
namespace {

constexpr std::uint64_t kRows = 23;
constexpr std::uint64_t kColumns = 40;
constexpr std::int64_t kParticles = 101;

double cell(std::uint64_t row, std::uint64_t column, std::uint32_t step) {
  return static_cast<double>(1000 * row + column) + 0.25 * step;
}

float position(std::int64_t id, int axis, std::uint32_t step) {
  return static_cast<float>(10 * id + axis) + 0.5F * static_cast<float>(step);
}

std::string protocol_of(std::uint32_t step) {
  std::string text;
  for (std::uint32_t i = 1; i <= step; ++i) text += fmt::format("step {}\n", i);
  return text;
}

}  // namespace

Grid::Grid(SessionBase& session) : session_(session) {
  const std::uint64_t ranks = session.size();
  first_row_ = kRows * session.rank() / ranks;
  const std::uint64_t end = kRows * (session.rank() + 1) / ranks;
  rows_.resize((end - first_row_) * kColumns);
  if (session.rank() == 0) {
    ids_.resize(kParticles);
    std::iota(ids_.begin(), ids_.end(), 0);
  }
  session.protect("step", step_, same);
  session.protect("rows", rows_, GlobalPlace{{kRows, kColumns}, {first_row_, 0}});
  session.protect("ids", ids_, sequence);
  session.protect("positions", positions_, like("ids"));
  if (session.rank() == 0) session.protect("protocol", protocol_, of_rank(0));
}

std::uint32_t Grid::restore() {
  if (session_.restore().restored) expect_state();
  return step_;
}

// Particles are many on some ranks, and none on others.
void Grid::compute() {
  ++step_;
  const std::uint32_t ranks = session_.size();
  for (std::uint64_t i = 0; i < rows_.size(); ++i) rows_[i] = cell(first_row_ + i / kColumns, i % kColumns, step_);
  ids_.clear();
  positions_.clear();
  for (std::int64_t id = 0; id < kParticles; ++id) {
    if ((id * id / 7 + step_) % ranks != session_.rank() || (ranks > 2 && session_.rank() == 1)) {
      const bool is_of_rank_1 = ranks > 2 && (id * id / 7 + step_) % ranks == 1;
      if (!is_of_rank_1 || session_.rank() != 0) continue;
    }
    ids_.push_back(id);
    for (int axis = 0; axis < 2; ++axis) positions_.push_back(position(id, axis, step_));
  }
  protocol_ = protocol_of(step_);
}

void Grid::expect_state() const {
  for (std::uint64_t i = 0; i < rows_.size(); ++i)
    ASSERT_EQ(rows_[i], cell(first_row_ + i / kColumns, i % kColumns, step_)) << "element " << i;
  ASSERT_EQ(positions_.size(), 2 * ids_.size());
  EXPECT_EQ(std::set(ids_.begin(), ids_.end()).size(), ids_.size());
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    for (int axis = 0; axis < 2; ++axis) EXPECT_EQ(positions_[2 * i + axis], position(ids_[i], axis, step_));
  }
  const std::uint32_t old_ranks = session_.last_restore().old_ranks;
  const std::size_t share = kParticles / session_.size();
  if (old_ranks != session_.size()) {
    EXPECT_TRUE(ids_.size() == share || ids_.size() == share + 1) << ids_.size();
  }
  if (session_.rank() == 0) {
    EXPECT_EQ(protocol_, protocol_of(step_));
  }
}

std::optional<std::uint32_t> Grid::advance() {
  compute();
  return session_.snapshot();
}

void Grid::wait_for_all() {
  for (const LevelId level : kEveryLevel) session_.wait(level);
}

}  // namespace cairn::test
