// Payloads of a log that its memory has no room for, in files of the node's own store. They are written in the order in
// which they are sent, and a file goes when none of its payloads is needed any more. The files need not outlive their
// process, and have no name that anybody could open.
//
// What an error has left out is not there; all else stays readable. Not thread-safe. Local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "store/store.hpp"

namespace cairn::replay {

class Spill {
 public:
  // Makes a file. Its errors become those of append().
  using Open = std::function<Result<std::unique_ptr<Writer>>()>;

  Spill() = default;  // has no room
  // The files take at most so many bytes. What is in them already stays.
  void uses(std::uint64_t most_bytes, Open open);

  // Appends a payload of a message from after this snapshot() call, and returns its place. no_space: the files have no
  // room for it, or the store has none; and the store's other errors. Requires: epochs do not decrease.
  [[nodiscard]] Result<std::uint64_t> append(std::uint64_t epoch, Bytes payload);
  // Reads so many bytes of what append() has put there. The store's errors.
  [[nodiscard]] Status read(std::uint64_t place, MutableBytes into) const;
  // Payloads from before this snapshot() call are not needed any more.
  void cut(std::uint64_t epoch);

  [[nodiscard]] std::uint64_t most_bytes() const { return most_bytes_; }
  // What the files take, or will take once all is written: also what is not needed any more, in files that are.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  struct File {
    std::unique_ptr<Writer> writer;
    std::uint64_t begin = 0;  // its first place
    std::uint64_t bytes = 0;  // the last file: with what is still in tail_
    std::uint64_t last_epoch = 0;
  };
  [[nodiscard]] Status open_next();
  [[nodiscard]] Status write_tail();

  std::uint64_t most_bytes_ = 0;
  Open open_;
  std::deque<File> files_;
  Buffer tail_;  // the end of the last file, which is not written yet: short payloads are written together
  std::uint64_t bytes_ = 0;
};

}  // namespace cairn::replay
