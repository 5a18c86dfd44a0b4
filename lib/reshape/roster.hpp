// The regions of the whole job, of which all members have the same list: what each is called, what it is, and its type.
// Member 0's list is broadcast; only members with other regions send them. So each member compares with one list, and
// no list has an entry for each rank.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "reshape/finding.hpp"
#include "reshape/post.hpp"
#include "reshape/share.hpp"

namespace cairn::reshape {

// A number of Share's alternatives.
enum class Kind : std::uint8_t { unsaid, block, sequence, same, of_rank };
[[nodiscard]] Kind kind_of(const Share& share);

struct Entry {
  RegionInfo type;  // its name and type. Shape: empty for a region of one old rank; of a block, the global array's; of
                    // others, that of the memory with 0 as its first number
  Kind kind{};
  std::vector<std::uint64_t> stored_ghosts;
  std::string like;
  std::uint32_t said_by = 0;  // the new rank

  [[nodiscard]] bool needed_on_all() const { return kind == Kind::sequence || kind == Kind::same; }
};

class Roster {
 public:
  Roster() = default;
  explicit Roster(std::vector<Entry> entries);
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(entries_.size()); }
  [[nodiscard]] std::optional<std::uint32_t> find(const std::string& name) const;

  // What this member's regions and the list do not agree about.
  [[nodiscard]] Findings compare(const std::vector<Wanted>& wanted, std::uint32_t rank) const;

 private:
  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
};

// Makes the list of all members' regions. Collective. An error: a member cannot be reached.
[[nodiscard]] Result<Roster> gather_roster(Comm& comm, Post& post, const std::vector<Wanted>& wanted);

}  // namespace cairn::reshape
