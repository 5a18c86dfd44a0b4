// What a real job plays, and how that is judged: the program that checks itself, whose ranks note all that they are
// told, or heat, whose result must be that of a run that nothing happens to. One thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "torture/cluster.hpp"
#include "torture/mpi/places.hpp"
#include "torture/mpi/starter.hpp"
#include "torture/mpi/strikes.hpp"

namespace cairn::torture {

// A life of the job that was played.
struct Played {
  const Turn& turn;
  const std::vector<Struck>& struck;
  const std::string& output;
  bool hurt = false;  // a store was, in this life or before
};

class Piece {
 public:
  virtual ~Piece() = default;
  [[nodiscard]] virtual std::string program() const = 0;
  // Before a life. With the program.
  [[nodiscard]] virtual std::vector<std::string> prepare(const Turn& turn, const std::filesystem::path& config) = 0;
  // How often the job has come in this life so far.
  [[nodiscard]] virtual std::size_t count_beginnings() const = 0;
  [[nodiscard]] virtual Lived judge(const Played& played, const Begin& begin, Model& model) const = 0;
};

// Of one scenario, of which `items` are left out. Files go below `root`.
[[nodiscard]] std::unique_ptr<Piece> make_self_checking(const Programs& programs, std::filesystem::path root,
                                                        std::uint64_t seed, std::string items);
[[nodiscard]] std::unique_ptr<Piece> make_heat(const Programs& programs, std::filesystem::path root);

// The worst that may happen in a life, and what may in an attempt of this number that began then.
[[nodiscard]] Circumstances::Faults worst_effect_of(const Life& life);
[[nodiscard]] Circumstances::Faults effect_since(Moment began, std::size_t attempt, const Life& life,
                                                 const std::vector<Struck>& struck);

}  // namespace cairn::torture
