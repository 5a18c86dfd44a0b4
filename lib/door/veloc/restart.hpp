// A restart between its begin and its end: what this rank has in the version, and what it has got of it. Local.
#pragma once

#include <list>
#include <string>
#include <vector>

#include "door/veloc/job.hpp"
#include "door/veloc/memory.hpp"

namespace cairn::door {

class Restart {
 public:
  // `file`: where this rank's file will be, if it has one.
  Restart(std::string name, StoredVersion stored, std::string file);
  ~Restart();
  Restart(const Restart&) = delete;
  Restart& operator=(const Restart&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int version() const { return stored_.version; }
  [[nodiscard]] bool has_file() const { return stored_.has_file; }
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] std::uint64_t bytes_of(int id) const;  // 0: it is not in the version

  // Where everything in the version is to be restored: chosen regions into the memory of their ids. Others are read,
  // and not kept. Valid until take(). Throws: kind `usage` if an id is not protected, or its memory is too small.
  [[nodiscard]] Content place(const Group& group, const Choice& choice);
  // After the restore: gives regions to the functions that read them. Throws: kind `corrupt` if one cannot read it.
  void take(const Group& group);

 private:
  struct Read {
    int id;
    bool wanted;
    std::vector<char> bytes;
  };

  std::string name_;
  StoredVersion stored_;
  std::string file_;
  std::list<Read> reads_;  // what is not restored into the program's memory
};

}  // namespace cairn::door
