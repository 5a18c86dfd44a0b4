// One region that an application has protected. The application owns the memory; this has its address and type. There
// may be tens of thousands: an array of one dimension, a container or a number takes few bytes, and whatever few
// regions have is kept apart. Local.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <cairn/session_base.hpp>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"
#include "format/region.hpp"
#include "session/protected_path.hpp"
#include "session/saved_object.hpp"

namespace cairn {

class ProtectedRegion {
 public:
  ProtectedRegion();  // none: it has no name
  // `self`: this rank. Refuses what no shard can hold, and what has no function or path that it needs.
  static Result<ProtectedRegion> make(const std::string& name, detail::RegionAccess&& access, Rank self);
  ProtectedRegion(ProtectedRegion&&) noexcept;
  ProtectedRegion& operator=(ProtectedRegion&&) noexcept;
  ~ProtectedRegion();

  [[nodiscard]] const std::string& name() const { return name_; }
  // As it is now: of what can have another size, shape[0] is that of this moment.
  [[nodiscard]] RegionInfo info() const;
  // The same, in place of what `info` had.
  void describe(RegionInfo& info) const;

  // Whether a restore may give it another size: a container, an object, a file or a directory.
  [[nodiscard]] bool is_resizable() const { return is_container() || is_apart(); }
  [[nodiscard]] bool is_container() const { return calls_ != nullptr && calls_->resize != nullptr; }
  // An object, a file or a directory: its bytes are not in the application's memory.
  [[nodiscard]] bool is_apart() const { return object() != nullptr || file() != nullptr; }
  [[nodiscard]] bool is_part_of_array() const;  // a global one
  [[nodiscard]] bool has_fixed_size() const { return has_fixed_size_; }

  [[nodiscard]] std::uint64_t elements() const;  // now
  // In one step of the first dimension. Requires: resizable.
  [[nodiscard]] std::uint64_t row_elements() const;
  // Requires: resizable.
  void resize(std::uint64_t elements) const;
  [[nodiscard]] std::byte* data() const;  // now; null: the application's pointer is
  // The inverse of has_changed(). Refuses what can be no array of whole rows now.
  [[nodiscard]] Status plan();
  // Since plan().
  [[nodiscard]] bool has_changed() const { return is_resizable() && elements() != length_; }

  // What it is to the whole job, if its place does not tell. A part of a global array has none.
  [[nodiscard]] const detail::AnyKind& kind() const;
  [[nodiscard]] Status set_kind(detail::AnyKind kind);

  // By a restore of all regions (empty), or of the one named.
  [[nodiscard]] bool is_asked(const std::string& only) const { return only.empty() || name_ == only; }
  // Whether it can be restored from what is stored, but for size and place.
  [[nodiscard]] bool fits(const RegionInfo& stored) const;
  // Of one that fits.
  [[nodiscard]] bool has_fixed_size_other_than(const RegionInfo& stored) const;
  // Of one that fits, if both say where they lie in a global array.
  [[nodiscard]] bool has_place_other_than(const RegionInfo& stored) const;

  // One of them, or none. Null: it is no such thing.
  [[nodiscard]] SavedObject* object() const;
  [[nodiscard]] ProtectedPath* file() const;  // or a directory
  // object "mesh", file "log". Requires: it is one of them.
  [[nodiscard]] std::string text() const;
  // Opens the file, if it is one, whose length and permissions count then. Returns whether its type has changed.
  [[nodiscard]] Result<bool> open_file();
  // The path of a scratch file; null: it is none.
  [[nodiscard]] const std::string* scratch_path() const;
  // Where a file is also written; empty: nowhere. An error if it is no file.
  [[nodiscard]] Status set_destination(const std::string& path);
  [[nodiscard]] const std::string& destination() const;

 private:
  struct Special;

  std::string name_;
  void* object_ = nullptr;                      // as in RegionAccess
  const detail::RegionCalls* calls_ = nullptr;  // the same
  std::uint64_t length_ = 1;                    // elements; of what is resizable, those that were planned last
  std::uint32_t element_bytes_ = 1;
  ElementType type_ = ElementType::opaque;
  bool is_array_ = false;  // or else one value
  bool has_fixed_size_ = false;
  std::unique_ptr<Special> special_;  // null: the above is all; otherwise it says what the region is
};

}  // namespace cairn
