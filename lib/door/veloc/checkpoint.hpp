// A checkpoint between its begin and its end: what it will contain. Local.
#pragma once

#include <list>
#include <string>

#include "door/veloc/job.hpp"
#include "door/veloc/memory.hpp"

namespace cairn::door {

class Checkpoint {
 public:
  Checkpoint(std::string name, int version) : name_(std::move(name)), version_(version) {}
  Checkpoint(Checkpoint&& other) noexcept;
  ~Checkpoint();  // removes the file
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int version() const { return version_; }
  // Adds regions. Those that functions write are written now, others when the snapshot is taken. Throws: kind `usage`
  // if none is chosen, or what a function throws.
  void add(const Group& group, const Choice& choice);
  // Adds a file that the program will write.
  void add_file(const std::string& path) { content_.file = path; }
  [[nodiscard]] const Content& content() const { return content_; }

 private:
  void put(Piece piece);

  std::string name_;
  int version_;
  std::list<std::string> written_;  // by functions
  Content content_;
};

}  // namespace cairn::door
