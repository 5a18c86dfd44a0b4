// The memory that a program has protected, by checkpoint name and id. The program owns it. Local.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <set>
#include <string>

namespace cairn::door {

using SaveMemory = std::function<void(std::ostream&)>;
using LoadMemory = std::function<bool(std::istream&)>;

// Either plain memory, or what two functions of the program write and read.
struct Memory {
  void* data = nullptr;
  std::uint64_t bytes = 0;
  SaveMemory save;
  LoadMemory load;
};

using Group = std::map<int, Memory>;

// Which ids a call is about, by VELOC's numbers.
struct Choice {
  int mode = 0;
  std::set<int> ids;
  [[nodiscard]] bool has(int id) const;
};

class Groups {
 public:
  // Replaces one with this id.
  void protect(const std::string& name, int id, Memory memory);
  [[nodiscard]] bool unprotect(const std::string& name, int id);  // whether there was one
  void clear(const std::string& name);
  // What checkpoints of this name contain: its own regions or, if it has none, those without a name.
  [[nodiscard]] const Group& of(const std::string& name) const;

 private:
  std::map<std::string, Group> groups_;
};

}  // namespace cairn::door
