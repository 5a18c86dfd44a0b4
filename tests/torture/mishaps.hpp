// What happens to the stores of a job between its lives, and what of it the model is told. One thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "support/job.hpp"
#include "torture/model.hpp"
#include "torture/scenario.hpp"

namespace cairn::torture {

class Mishaps {
 public:
  // Both stay the caller's.
  Mishaps(test::Job& job, Model& model) : job_(job), model_(model) {}

  void happen(const Mishap& mishap);
  // Whether a life finds something of a newer format; and what is wrong with what it has left of that, which becomes
  // what it was. `went_on`: it has taken snapshots. `anew`: it was to begin fresh, so that its marks take the place of
  // others.
  [[nodiscard]] bool newer() const { return !newer_.empty(); }
  [[nodiscard]] std::string end_of_newer(bool went_on, bool anew);
  // Since the last life: hosts that lost their stores.
  [[nodiscard]] std::vector<std::uint32_t> take_lost() { return std::exchange(lost_, {}); }

 private:
  struct Newer {
    Mishap mishap;
    std::string path;
    Buffer was, is;
  };
  [[nodiscard]] MemoryStore& store_of(const Mishap& mishap);
  void hurt(const Mishap& mishap);
  void lose(std::uint32_t host);
  void swap(std::uint32_t host);
  void age(const Mishap& mishap);
  void damage(const Mishap& mishap);

  test::Job& job_;
  Model& model_;
  std::map<std::uint32_t, test::StoreImage> swapped_;  // by host
  std::vector<Newer> newer_;
  std::vector<std::uint32_t> lost_;
};

}  // namespace cairn::torture
