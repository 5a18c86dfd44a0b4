// The regions that an application has protected: what a shard of them looks like, their bytes for a snapshot, and the
// inverse, a restore. Local.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <cairn/session_base.hpp>

#include "base/error.hpp"
#include "format/shard.hpp"
#include "format/shard_plan.hpp"
#include "session/region_exchange.hpp"
#include "session/region_list.hpp"
#include "session/regions_apart.hpp"
#include "session/stored_regions.hpp"

namespace cairn {

class Regions {
 public:
  // `digest`: what the blocks of its shards are to have.
  explicit Regions(BlockDigest digest, Rank self = {}) : digest_(digest), self_(self) {}

  // Inverse pair. Protecting a name again replaces the region.
  [[nodiscard]] Status protect(const std::string& name, detail::RegionAccess&& access);
  [[nodiscard]] Status unprotect(const std::string& name);
  // What a protected region is to the whole job. Another kind replaces it. A part of a global array has none.
  [[nodiscard]] Status set_kind(const std::string& name, detail::AnyKind kind);
  // In the order of protection.
  [[nodiscard]] std::vector<std::string> names() const;
  // None also if no region has this name.
  [[nodiscard]] detail::AnyKind kind_of(const std::string& name) const;

  // What a shard of the regions as they are now would look like; valid until the next call here. Made again only when
  // the extent of a region or the set of regions has changed.
  [[nodiscard]] Result<const ShardPlan*> plan();
  // Bytes of its file: a plan of many regions takes longer to make.
  [[nodiscard]] Result<std::uint64_t> shard_bytes();

  // The regions as they are now, for writing; valid until the next call here. Objects are saved, files are open.
  struct Capture {
    const ShardPlan& plan;
    std::span<const Bytes> regions;
    ReadRegion read;  // those that are files
  };
  [[nodiscard]] Result<Capture> capture();
  // What was prepared of objects and files is not needed.
  void release() { apart().release(); }
  // After capture(): objects and files are written, or the snapshot has failed.
  void end_snapshot() { apart().end_snapshot(); }
  // Where a file is also written when a snapshot reaches L4; empty: nowhere. "{version}" and "{rank}" in it stand for
  // numbers.
  [[nodiscard]] Status set_destination(const std::string& name, const std::string& path);
  // Those of a snapshot of this version.
  [[nodiscard]] Destinations destinations(Version version) { return apart().destinations(version, self_); }
  // Null: no region with this name is a scratch file.
  [[nodiscard]] const std::string* scratch_path(const std::string& name) const;
  [[nodiscard]] bool have_scratch_files() { return apart().have_scratch_files(); }

  // The inverse: gives every region (or the one named) the extent it has in the shard and copies its bytes back.
  // Refuses names and types that do not match, naming what differs, before it touches anything. Objects and files wait
  // for complete().
  [[nodiscard]] Status restore(const ShardFile& shard, const std::string& only);
  // After an exchange with other ranks.
  [[nodiscard]] Status prepare_files() { return apart().prepare_from_memory(); }
  // Whether there are objects and files, or whether the region named is one. complete() puts files back, and then loads
  // objects. An error names the region.
  [[nodiscard]] bool have_to_complete(const std::string& only) { return apart().are_asked(only); }
  [[nodiscard]] Status complete(const std::string& only) { return apart().complete(only); }

  // What the ranks exchange, if they restore a snapshot of other ranks or parts of arrays. Refers to this object and to
  // the application's memory.
  [[nodiscard]] Result<std::vector<reshape::Wanted>> wanted();
  [[nodiscard]] RegionExchange exchange() { return RegionExchange(regions_); }
  // Whether the regions would be written now with exactly the table that the shard has. Then each of them is where the
  // plan says, and many regions need no parsing and no search.
  [[nodiscard]] Result<bool> are_as_in(const ShardFile& shard);

  // The elements of each container, in the order of protection.
  [[nodiscard]] std::vector<std::uint64_t> container_sizes() const;
  // Containers that had elements then and have another number now. The regions are the same as then.
  [[nodiscard]] std::vector<ResizedRegion> resized_since(const std::vector<std::uint64_t>& sizes) const;

 private:
  [[nodiscard]] RegionsApart apart() { return RegionsApart(regions_); }
  [[nodiscard]] bool have_changed() const;
  [[nodiscard]] ShardPlan::EachRegion each_region();
  [[nodiscard]] Result<bool> restore_as_planned(const ShardFile& shard);
  [[nodiscard]] Status check_against(const Shard& shard, const std::string& only) const;
  [[nodiscard]] Error unknown(const std::string& name) const;

  BlockDigest digest_;
  Rank self_;
  RegionList regions_;
  std::optional<ShardPlan> plan_;
  std::vector<Bytes> captured_;
};

}  // namespace cairn
