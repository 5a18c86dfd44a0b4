// Those protected regions whose bytes are not in the application's memory: objects, files and directories. A snapshot
// and a restore prepare them before, and complete them after the bytes of all regions have moved. Refers to the list of
// the regions. Local.
#pragma once

#include <string>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "recover/destinations.hpp"
#include "session/region_list.hpp"

namespace cairn {

class RegionsApart {
 public:
  explicit RegionsApart(RegionList& regions) : regions_(regions) {}

  // For a snapshot: saves objects and opens files. Returns whether the type of a file has changed, which has its
  // permissions. An error names the region.
  [[nodiscard]] Result<bool> prepare() const;
  // What was prepared is not needed.
  void release() const;
  // After prepare(): they are written, or the snapshot has failed.
  void end_snapshot() const;

  // For a restore, after an exchange with other ranks.
  [[nodiscard]] Status prepare_from_memory() const;
  // Whether there are any, or whether the region named is one.
  [[nodiscard]] bool are_asked(const std::string& only) const;
  // Puts files back, and then loads objects.
  [[nodiscard]] Status complete(const std::string& only) const;

  // Where files of a snapshot of this version are also written, by `self`. "{version}" and "{rank}" in paths stand for
  // numbers.
  [[nodiscard]] Destinations destinations(Version version, Rank self) const;
  [[nodiscard]] bool have_files() const;  // or directories
  [[nodiscard]] bool have_scratch_files() const;

 private:
  // Calls `use` for each, until it fails. Most programs have none.
  template <class Use>
  [[nodiscard]] Status for_each(const Use& use) const {
    if (regions_.apart() == 0) return {};
    for (ProtectedRegion& region : regions_) {
      if (!region.is_apart()) continue;
      if (auto done = use(region); !done) return fail(done.error().in(region.text()));
    }
    return {};
  }
  template <class Is>
  [[nodiscard]] bool has_any(const Is& is) const {
    bool has = false;
    (void)for_each([&](const ProtectedRegion& region) -> Status {
      has |= is(region);
      return {};
    });
    return has;
  }

  RegionList& regions_;
};

}  // namespace cairn
