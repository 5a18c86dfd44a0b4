// Which versions of a checkpoint name a program has taken, by its own numbers, and what this rank has in each. It is a
// region of every snapshot, so a restored snapshot has those that had been taken until then. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace cairn::door {

// A region of memory, by the program's id.
struct StoredMemory {
  int id = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const StoredMemory&, const StoredMemory&) = default;
};

struct StoredVersion {
  int version = 0;
  std::uint32_t snapshot = 0;  // Cairn's number; 0: not known yet
  bool has_file = false;
  std::vector<StoredMemory> memory;
  friend bool operator==(const StoredVersion&, const StoredVersion&) = default;
};

class History {
 public:
  // Null: there is no such version.
  [[nodiscard]] const StoredVersion* find(int version) const;
  // The highest that is not above `most`; 0: of all.
  [[nodiscard]] std::optional<int> highest(int most) const;
  [[nodiscard]] std::vector<int> versions() const;  // in the order in which they were taken

  // Adds the newest one. It replaces one with its number. Of more than `most`, the oldest are forgotten.
  void add(StoredVersion taken, std::size_t most);
  void drop(int version);
  // Cairn's number of the one that was taken last, whose own snapshot cannot have it yet.
  void number_last(std::uint32_t snapshot);

  // As numbers, for the region. Inverse pair. Of numbers that no history has made, what is complete is read.
  [[nodiscard]] std::vector<std::int64_t> encode() const;
  [[nodiscard]] static History decode(const std::vector<std::int64_t>& numbers);

 private:
  std::vector<StoredVersion> versions_;  // the oldest first
};

}  // namespace cairn::door
