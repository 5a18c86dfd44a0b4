#include "load/state.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>

namespace cairn::load {
namespace {

// Knuth's multiplier, odd; the words of a region are all different.
constexpr std::uint64_t kStride = 6364136223846793005U;

// SplitMix64's finalizer.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

bool is_container(std::size_t region) { return region % 3 == 0; }

std::string name_of(std::size_t region) { return fmt::format("region{:06}", region); }

}  // namespace

State::State(std::uint32_t rank, std::size_t regions, std::uint64_t bytes)
    : rank_(rank),
      mean_words_(std::max<std::size_t>(1, bytes / sizeof(std::uint64_t) / std::max<std::size_t>(1, regions))),
      regions_(regions) {
  for (std::size_t i = 0; i < regions; ++i) {
    if (!is_container(i)) regions_[i].resize(words_of(i));
  }
}

void State::protect(SessionBase& session) {
  session.protect("step", step_);
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    if (is_container(i))
      session.protect(name_of(i), regions_[i]);
    else
      session.protect(name_of(i), std::span(regions_[i]));
  }
}

// In the order of protection, which is how an application ends what it began.
void State::unprotect(SessionBase& session) {
  session.unprotect("step");
  for (std::size_t i = 0; i < regions_.size(); ++i) session.unprotect(name_of(i));
}

void State::advance_to(std::uint64_t step) {
  step_ = step;
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    regions_[i].resize(words_of(i));
    std::uint64_t word = first_word(i);
    for (std::uint64_t& out : regions_[i]) {
      out = word;
      word += kStride;
    }
  }
}

std::string State::first_difference() const {
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    if (regions_[i].size() != words_of(i))
      return fmt::format("{} has {} words, should have {}", name_of(i), regions_[i].size(), words_of(i));
    std::uint64_t word = first_word(i);
    for (std::size_t at = 0; at < regions_[i].size(); ++at, word += kStride) {
      if (regions_[i][at] == word) continue;
      return fmt::format("{}: word {} is {:016x}, should be {:016x}", name_of(i), at, regions_[i][at], word);
    }
  }
  return {};
}

// Neighbours differ in length.
std::size_t State::words_of(std::size_t region) const { return mean_words_ + (region % 7) * mean_words_ / 8; }

std::uint64_t State::first_word(std::size_t region) const { return mix(mix(mix(rank_ + 1) + region) + step_); }

}  // namespace cairn::load
