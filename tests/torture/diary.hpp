// What one rank of a real job notes, in a file: a line of JSON each, written before the call returns, so that a rank
// that is killed has lost nothing. And the inverse: the notes of all ranks, in the order of time.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "torture/cluster.hpp"
#include "torture/ledger.hpp"

namespace cairn::torture {

class Diary final : public Notes {
 public:
  // Makes the file, in the directory, under the number of this process.
  explicit Diary(const std::string& directory);
  ~Diary() override;
  Diary(const Diary&) = delete;
  Diary& operator=(const Diary&) = delete;

  // Whether this rank got a session, of so many ranks.
  void opens(std::uint32_t ranks);
  void cannot_open(const std::string& why);

  void tries(std::uint64_t stamp) override;
  void takes(std::uint32_t version, std::uint64_t stamp) override;
  void is_safe(std::uint32_t level, std::uint32_t version) override;
  void is_wrong(const std::string& what) override;
  void restored(std::size_t which, std::uint32_t ranks, const Restored* seen, const std::string& error) override;
  void has_finalized(Ending ending) override;

 private:
  void write(const nlohmann::json& line);

  int file_ = -1;
};

// Empty while no rank has begun.
[[nodiscard]] bool has_diaries(const std::string& directory);
// Copies notes into `notes`. A last line that was cut short is left out.
[[nodiscard]] Lived read_diaries(const std::string& directory, Notes& notes);

}  // namespace cairn::torture
