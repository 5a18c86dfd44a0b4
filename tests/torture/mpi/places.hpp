// The stores of a scenario, in directories: those of hosts, of which a life has some as its nodes, and the global one;
// and what becomes of them while a job runs. One thread.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "support/temp_directory.hpp"
#include "torture/cluster.hpp"
#include "torture/mpi/apart.hpp"

namespace cairn::torture {

class Places {
 public:
  Places();

  [[nodiscard]] std::filesystem::path root() const { return root_; }
  [[nodiscard]] std::filesystem::path local() const { return root_ / "local"; }
  [[nodiscard]] std::filesystem::path global() const { return root_ / "global"; }

  // Between lives.
  [[nodiscard]] bool has(Place place) const;
  [[nodiscard]] test::StoreImage image(Place place) const;
  void put_back(Place place, const test::StoreImage& image);
  void lose(Place place);

  // Inverse pair: hosts become nodes by their names. False: not in so little space as the life is to have.
  bool move_in(const Life& life);
  void move_out(const Life& life);

  // In a life. Files that are there now go, or one of them; others come meanwhile. What it did to which file; empty:
  // there was none.
  [[nodiscard]] bool wipe(const Life& life, Place place) const;
  [[nodiscard]] std::string damage(const Life& life, Place place, std::uint64_t pick, bool remove) const;
  // Inverse pair. What was written elsewhere meanwhile is put aside.
  void take_global_away() const;
  void bring_global_back() const;

  static constexpr const char* kJob = "job";

 private:
  [[nodiscard]] std::filesystem::path directory_of(Place place) const;
  [[nodiscard]] std::filesystem::path node_directory(std::size_t node) const;
  [[nodiscard]] std::filesystem::path job_directory(const Life& life, Place place) const;

  test::TempDirectory directory_{"/dev/shm"};
  std::filesystem::path root_ = directory_.path();
  std::unique_ptr<SmallFileSystem> small_;
};

}  // namespace cairn::torture
