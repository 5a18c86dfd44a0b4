// The state of one rank of load_program: regions whose every word follows from the rank, the region, the step and its
// place, so that what comes back can be told from all else without a copy. Of three regions one is a container, empty
// before a restore; the others are arrays. One rank; local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/session_base.hpp>

namespace cairn::load {

class State {
 public:
  // Of so many regions with about so many bytes in all, each at least a word; all zeros, and containers empty.
  State(std::uint32_t rank, std::size_t regions, std::uint64_t bytes);

  // Inverse pair: of all regions and the step.
  void protect(SessionBase& session);
  void unprotect(SessionBase& session);

  [[nodiscard]] std::uint64_t step() const { return step_; }
  // Inverse pair: gives every region its words at a step; the first word that is not as it should be at step(), for a
  // person, or an empty text.
  void advance_to(std::uint64_t step);
  [[nodiscard]] std::string first_difference() const;

 private:
  [[nodiscard]] std::size_t words_of(std::size_t region) const;
  [[nodiscard]] std::uint64_t first_word(std::size_t region) const;

  std::uint32_t rank_;
  std::size_t mean_words_;
  std::uint64_t step_ = 0;
  std::vector<std::vector<std::uint64_t>> regions_;
};

}  // namespace cairn::load
