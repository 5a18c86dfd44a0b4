// The regions that an application has protected, by name and in the order of protection. The application owns the
// memory; this has only addresses and types. Local.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <cairn/session_base.hpp>

#include "base/error.hpp"
#include "format/region.hpp"
#include "format/shard.hpp"
#include "format/shard_plan.hpp"
#include "recover/destinations.hpp"
#include "reshape/share.hpp"
#include "session/protected_path.hpp"
#include "session/saved_object.hpp"
#include "session/stored_regions.hpp"

namespace cairn {

class Regions {
 public:
  // `digest`: what the blocks of its shards are to have.
  explicit Regions(BlockDigest digest, Rank self = {}) : digest_(digest), self_(self) {}

  // Inverse pair. Protecting a name again replaces the region.
  [[nodiscard]] Status protect(const std::string& name, detail::RegionAccess access);
  [[nodiscard]] Status unprotect(const std::string& name);
  // What a protected region is to the whole job. Another kind replaces it. A part of a global array has none.
  [[nodiscard]] Status set_kind(const std::string& name, detail::AnyKind kind);
  // In the order of protection.
  [[nodiscard]] std::vector<std::string> names() const;
  // None also if no region has this name.
  [[nodiscard]] detail::AnyKind kind_of(const std::string& name) const {
    const auto known = by_name_.find(name);
    return known == by_name_.end() ? detail::AnyKind{} : known->second->kind;
  }

  // What a shard of the regions as they are now would look like; valid until the next call here. Made again only when
  // the extent of a region or the set of regions has changed.
  [[nodiscard]] Result<const ShardPlan*> plan();

  // The regions as they are now, for writing; valid until the next call here. Objects are saved, files are open.
  struct Capture {
    const ShardPlan& plan;
    std::span<const Bytes> regions;
    ReadRegion read;  // those that are files
  };
  [[nodiscard]] Result<Capture> capture();
  // What was prepared of objects and files is not needed.
  void release();
  // After capture(): objects and files are written, or the snapshot has failed.
  void end_snapshot();
  // Where a file is also written when a snapshot reaches L4; empty: nowhere. "{version}" and "{rank}" in it stand for
  // numbers.
  [[nodiscard]] Status set_destination(const std::string& name, const std::string& path);
  // Those of a snapshot of this version.
  [[nodiscard]] Destinations destinations(Version version) const;
  // Null: no region with this name is a scratch file.
  [[nodiscard]] const std::string* scratch_path(const std::string& name) const;
  [[nodiscard]] bool have_scratch_files() const;

  // The inverse: gives every region (or the one named) the extent it has in the shard and copies its bytes back.
  // Refuses names and types that do not match, naming what differs, before it touches anything. Objects and files wait
  // for complete().
  [[nodiscard]] Status restore(const ShardFile& shard, const std::string& only);
  // After an exchange with other ranks.
  [[nodiscard]] Status prepare_files();
  // Whether there are objects and files, or whether the region named is one. complete() puts files back, and then loads
  // objects. An error names the region.
  [[nodiscard]] bool have_to_complete(const std::string& only) const;
  [[nodiscard]] Status complete(const std::string& only);

  // What the ranks exchange, if they restore a snapshot of other ranks or parts of arrays. Refers to this object and to
  // the application's memory.
  [[nodiscard]] Result<std::vector<reshape::Wanted>> wanted();
  // How many elements a region will have on this rank of so many, of a snapshot of another number of ranks. `all`: what
  // the snapshot has. A region that is not protected, or has no kind, counts as a sequence. Nothing: it is missing
  // there. Requires: the region is not of one old rank.
  [[nodiscard]] std::optional<std::uint64_t> share_of(const std::string& name, const StoredRegions& all, Rank self,
                                                      std::uint32_t ranks);
  [[nodiscard]] bool is_of_one_old_rank(const std::string& name) const {
    return std::holds_alternative<OfRank>(kind_of(name));
  }
  // Whether this rank's regions are other elements than those in its own shard. `self`: the rank.
  [[nodiscard]] bool need_exchange(const Shard& shard, Rank self);

  // The elements of each region, in the order of protection; 0 for all but containers.
  [[nodiscard]] std::vector<std::uint64_t> container_sizes() const;
  // Containers that had elements then and have another number now. The regions are the same as then.
  [[nodiscard]] std::vector<ResizedRegion> resized_since(const std::vector<std::uint64_t>& sizes) const;

 private:
  struct Region {
    RegionInfo info;  // of a container, shape[0] is what look() found last
    std::function<std::size_t()> elements;
    std::function<void(std::size_t)> resize;  // empty: no container
    std::function<void*()> data;
    // One of them, or none; the functions above refer to it then.
    std::shared_ptr<SavedObject> object;
    std::shared_ptr<ProtectedPath> file;  // or a directory
    std::string path;                     // of a file or directory
    bool is_scratch = false;              // the file is a scratch file
    std::string destination;              // of a file; empty: none
    bool fixed_size = false;              // a container that a restore must not resize
    detail::AnyKind kind;                 // what it is to the whole job, if its place does not tell
    std::uint64_t planned_elements = 0;   // of a container: those that the plan has

    // By a restore of all regions (empty), or of the one named.
    [[nodiscard]] bool is_asked(const std::string& only) const { return only.empty() || info.name == only; }
    [[nodiscard]] std::uint64_t row_elements() const;  // in one step of a container's first dimension
    void look();                                       // takes a container's extent into `info`
    [[nodiscard]] bool has_changed() const;            // since the plan was made
    [[nodiscard]] bool fits(const RegionInfo& stored) const;
    [[nodiscard]] bool has_fixed_size_other_than(const RegionInfo& stored) const;  // of one that fits
    // Of one that fits, if both say where they lie in a global array.
    [[nodiscard]] bool has_place_other_than(const RegionInfo& stored) const;
    [[nodiscard]] bool is_of_others(const RegionInfo& stored, Rank self) const;
    [[nodiscard]] reshape::Share share() const;
  };
  [[nodiscard]] Region region_of(const std::string& name, detail::RegionAccess access) const;
  [[nodiscard]] Status open_files();

  [[nodiscard]] Result<bool> restore_as_planned(const ShardFile& shard);
  [[nodiscard]] Status check_against(const Shard& shard, const std::string& only);
  [[nodiscard]] Error unknown(const std::string& name);

  BlockDigest digest_;
  Rank self_;
  std::list<Region> regions_;  // a list, so that one of many is removed in constant time
  std::unordered_map<std::string_view, std::list<Region>::iterator> by_name_;  // the names are those in the list
  std::optional<ShardPlan> plan_;
  std::vector<Bytes> captured_;
};

}  // namespace cairn
