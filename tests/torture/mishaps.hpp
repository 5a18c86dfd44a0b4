// What happens to the stores of a cluster between its lives, and what of it the model is told. One thread.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "torture/cluster.hpp"
#include "torture/model.hpp"
#include "torture/scenario.hpp"

namespace cairn::torture {

class Mishaps {
 public:
  // Both stay the caller's.
  Mishaps(Cluster& cluster, Model& model) : cluster_(cluster), model_(model) {}

  void happen(const Mishap& mishap);
  // Whether a life finds something that it may not judge: of a newer format, or sealed with another key.
  [[nodiscard]] bool others() const { return !others_.empty(); }
  // What is wrong with what that life has left of it, which then becomes what it was. It is to be left as it is, but
  // for marks where the life began fresh, and for what it may have been unable to read.
  [[nodiscard]] std::string end_of_others(const Circumstances& life, bool began_fresh, bool took_snapshots);
  // Since the last life: hosts that lost their stores.
  [[nodiscard]] std::vector<std::uint32_t> take_lost() { return std::exchange(lost_, {}); }

 private:
  struct Others {
    Mishap mishap;
    std::string path;
    Buffer was, is;
  };
  void hurt(const Mishap& mishap);
  void lose(std::uint32_t host);
  void swap(std::uint32_t host);
  void age(const Mishap& mishap);
  void damage(const Mishap& mishap);

  Cluster& cluster_;
  Model& model_;
  std::map<std::uint32_t, test::StoreImage> swapped_;  // by host
  std::vector<Others> others_;
  std::vector<std::uint32_t> lost_;
  std::map<Place, Buffer> without_mark_;  // stores whose mark was damaged, and what is left of it
};

}  // namespace cairn::torture
