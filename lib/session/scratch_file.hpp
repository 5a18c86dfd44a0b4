// A file in the node's own store that the program writes for each snapshot, and that a restore puts there. It is there
// until the next snapshot has been taken, or has failed, and not longer than it is protected.
#pragma once

#include <optional>
#include <string>

#include "session/protected_file.hpp"

namespace cairn {

class ScratchFile final : public ProtectedFile {
 public:
  // Removes a file that an earlier run has left there. What cannot be removed counts as old.
  ScratchFile(const std::string& path, Rank self);
  ~ScratchFile() override;
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  // An error if nobody has written it since the last snapshot or restore: it would have old contents.
  [[nodiscard]] Status open() override;
  void end_snapshot() override;

 private:
  [[nodiscard]] Status apply() override;
  void remove();

  // A file that is not for the next snapshot: its stamp, and why.
  struct Old {
    posix::FileStamp stamp;
    std::string why;
  };
  std::optional<Old> old_;
  std::optional<posix::FileStamp> read_;  // by the last snapshot
};

}  // namespace cairn
