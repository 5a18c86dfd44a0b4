// The part of a Session that needs no MPI: regions, snapshots, restores. Applications include
// <cairn/cairn.hpp>, which adds opening over a communicator.
//
// Order of calls, on every application rank:
//
//   open → protect … → restore → { compute → snapshot } … → finalize
//
// Every application rank must make the same sequence of restore, snapshot, wait and finalize calls, at safe points:
// places where no application message is in flight. protect and unprotect are local; ranks may protect
// different regions. All calls come from one thread. Errors throw cairn::Exception; an error of
// background work is thrown by the next call, and does not undo what that call did.
//
// When a snapshot fails because of storage (a full disk, say), snapshot() does not throw, whether its own write failed
// or work in the background. The log reports it once, storage_error() keeps the text, and the job goes on with the last
// good snapshot. wait() and finalize() throw it if the newest snapshot is not as safe as asked. With [job]
// on_storage_error = throw, it is thrown like any other error.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include <cairn/error.hpp>
#include <cairn/level_id.hpp>
#include <cairn/storable.hpp>
#include <cairn/version.hpp>

struct cairn_session;  // of the C API

namespace cairn {

enum class Element { opaque, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64 };

// A container that restore() resized.
struct ResizedRegion {
  std::string name;
  std::uint64_t elements_before = 0;  // never 0
  std::uint64_t elements_now = 0;     // as in the snapshot
};

// For protect(): restore() must not resize this container.
struct FixedSize {
  explicit FixedSize() = default;
};
inline constexpr FixedSize fixed_size{};

// What restore() did. Sources count application ranks of the whole job.
struct RestoreReport {
  bool restored = false;          // false: a fresh start
  std::uint32_t incarnation = 0;  // of the snapshot that was restored
  std::uint32_t version = 0;
  std::array<std::uint32_t, 4> ranks_from{};  // ranks whose shard came from L1, L2, L3, L4
  LevelId my_level = LevelId::local;          // where this rank's shard came from
  std::string my_source;                      // the same for a person: "L2, copy on node 2"
  std::vector<std::string> lost_nodes;        // nodes of the snapshot's layout whose store is not there
  double seconds = 0;
  // This rank's containers that had elements before restore() and have another number now, in the order of protection.
  // Often the job was started with another problem size. A container that was empty is not listed: nothing had given it
  // a size yet.
  std::vector<ResizedRegion> resized;
  std::uint32_t resized_ranks = 0;  // ranks of the whole job with such containers; the same on all ranks
};

// Where a region lies in a larger array that spans ranks: the extents of that array and the offset of the region's
// first element, in elements, slowest dimension first. Kept as metadata.
struct GlobalPlace {
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> offset;
};

namespace detail {

template <class T>
constexpr Element element_of() {
  if constexpr (std::is_same_v<T, float>)
    return Element::float32;
  else if constexpr (std::is_same_v<T, double>)
    return Element::float64;
  else if constexpr (std::is_same_v<T, bool> || std::is_enum_v<T> || !std::is_integral_v<T>)
    return Element::opaque;
  else if constexpr (std::is_signed_v<T>)
    return sizeof(T) == 1   ? Element::int8
           : sizeof(T) == 2 ? Element::int16
           : sizeof(T) == 4 ? Element::int32
                            : Element::int64;
  else
    return sizeof(T) == 1   ? Element::uint8
           : sizeof(T) == 2 ? Element::uint16
           : sizeof(T) == 4 ? Element::uint32
                            : Element::uint64;
}

template <class C>
concept Resizable = requires(C& c, std::size_t n) {
  c.resize(n);
  { c.data() } -> std::same_as<typename C::value_type*>;
  { c.size() } -> std::convertible_to<std::size_t>;
};

// How the session reaches a region's bytes: asked anew at each snapshot and restore.
struct RegionAccess {
  Element element = Element::opaque;
  std::uint32_t element_bytes = 1;
  std::string type_name;             // for opaque elements
  std::vector<std::uint64_t> shape;  // fixed part; a resizable region's first extent is filled in
  std::optional<GlobalPlace> place;
  std::function<std::size_t()> elements;    // empty: as the shape says
  std::function<void(std::size_t)> resize;  // empty: cannot change
  std::function<void*()> data;
  bool fixed_size = false;  // restore() must not call `resize`
};

}  // namespace detail

class SessionImpl;

class SessionBase {
 public:
  SessionBase(SessionBase&&) noexcept;
  SessionBase& operator=(SessionBase&&) noexcept;
  // Without finalize() first, what is not safe yet is lost, what was safe stays, and nobody is waited for. Calls of
  // other ranks that need this one throw an error that names it. With [head] mode = thread or inline a node's first
  // rank is also its head: it first finishes the promotion under way, and all calls of other ranks throw from then on.
  virtual ~SessionBase();

  // Protects a contiguous resizable container (std::vector, std::string …) of Storable
  // elements by reference: it may grow or shrink between snapshots and is resized on restore, which
  // RestoreReport::resized lists. The session keeps a reference: the container must outlive it, or be unprotected.
  // Protecting a name again replaces it.
  // With a place of several dimensions the container holds whole rows of that array.
  template <detail::Resizable C>
  requires Storable<typename C::value_type>
  void protect(const std::string& name, C& container, std::optional<GlobalPlace> place = {}) {
    protect_access(name, access_to(container, std::move(place)));
  }

  // The same for a container that restore() must not resize: the job's configuration gives it its size. The application
  // may still resize it between snapshots.
  // Requires: the container has its size when restore() is called.
  // Throws: restore() throws `mismatch` on all ranks if the snapshot has another size. It names rank, container and
  // both sizes. That rank's containers stay as they are.
  template <detail::Resizable C>
  requires Storable<typename C::value_type>
  void protect(const std::string& name, C& container, FixedSize /*tag*/, std::optional<GlobalPlace> place = {}) {
    auto access = access_to(container, std::move(place));
    access.fixed_size = true;
    protect_access(name, std::move(access));
  }

  // Protects one object of a Storable type (a scalar, an enum, a struct, a std::array) by reference.
  template <Storable T>
  void protect(const std::string& name, T& object) {
    auto access = describe<T>();
    access.elements = [] { return std::size_t{1}; };
    access.data = [&object]() -> void* { return &object; };
    protect_access(name, std::move(access));
  }

  // Protects the elements that a span refers to, in place; restore() brings back as many as it has now. The caller owns
  // them; the span itself is not kept.
  template <Storable T, std::size_t extent>
  void protect(const std::string& name, std::span<T, extent> elements) {
    protect(name, elements.data(), elements.size());
  }

  // Protects `count` elements at `data`. The caller owns them.
  template <Storable T>
  void protect(const std::string& name, T* data, std::size_t count) {
    protect(name, data, std::vector<std::uint64_t>{count});
  }

  // Protects an array of the given shape, slowest dimension first, at `data`. The caller owns it.
  template <Storable T>
  void protect(const std::string& name, T* data, std::vector<std::uint64_t> shape,
               std::optional<GlobalPlace> place = {}) {
    auto access = describe<T>();
    access.shape = std::move(shape);
    access.place = std::move(place);
    access.data = [data]() -> void* { return data; };
    protect_access(name, std::move(access));
  }

  // The general form, for other languages: type, size and shape as plain values.
  void protect_raw(const std::string& name, void* data, Element element, std::uint32_t element_bytes,
                   const std::string& type_name, std::vector<std::uint64_t> shape,
                   std::optional<GlobalPlace> place = {});

  // Forgets a region. An unknown name is an error.
  void unprotect(const std::string& name);

  // How many elements this rank's region of that name has in the snapshot that restore() will restore; nothing if it is
  // not in it, or on a fresh start. For memory that has to have its size before it is protected. Collective when it is
  // called first, local afterwards; to be called before restore() and the first snapshot(). Throws what restore()
  // throws. If that snapshot is lost before restore(), which then finds another one, a region whose size differs is a
  // `mismatch`.
  [[nodiscard]] std::optional<std::uint64_t> stored(const std::string& name);

  // Collective. Copies the newest snapshot that can be put together into the protected regions. Reports "not restored"
  // only when there is nothing to restore, or a fresh start was asked for. Throws `unrecoverable` when snapshots exist
  // but none is whole, and names versions and missing ranks; throws `mismatch` when ranks or regions differ, and names
  // what differs. After an error the regions' contents are undefined and snapshot() refuses.
  RestoreReport restore();
  // Collective. The same for one region by name (the same name on all ranks); others stay as they are.
  RestoreReport restore(const std::string& name);
  [[nodiscard]] const RestoreReport& last_restore() const;

  // Collective in time, without communication: takes a snapshot if one is due. Returns its version, or nothing. A
  // version that fails because of storage uses up its number on all ranks. Returns after the copy into the node's
  // store; the rest happens in the background.
  std::optional<std::uint32_t> snapshot();
  // Whether the next snapshot() will take one, the same on all ranks: for an application that has to do something
  // expensive before, such as to copy from a GPU. It is the first half of that snapshot(), which then does what is said
  // here; to ask again before that changes nothing. A later restore() makes it void. Like snapshot(), collective in
  // time, and to be called at a safe point.
  [[nodiscard]] bool due();
  // Takes a snapshot now and has it raised to `level`, due or not.
  std::uint32_t snapshot(LevelId level);

  // Waits until the newest snapshot that was meant for `level` is safe there; throws if it failed. Returns at once if
  // there is none.
  void wait(LevelId level);
  // The newest version safe at `level`, as this rank knows; 0: none.
  [[nodiscard]] std::uint32_t safe_version(LevelId level);

  // Why the last snapshot that failed because of storage failed, as this rank knows; empty: none did in this session.
  [[nodiscard]] std::string storage_error() const;

  // True once a batch system's warning has come (SIGUSR1 to any rank). Changes in snapshot() only, at the same call on
  // all ranks: at most 66 calls after the signal, mostly 2 where a step takes a tenth of a second or more.
  [[nodiscard]] bool should_stop() const;

  // Collective. Waits for background work, then ends as [restart] at_end says; throws errors that were not reported
  // yet, and the failure of the newest snapshot. After a restore that failed, or where neither a restore nor a snapshot
  // was made, all snapshots stay as they are, so that a later start can use them.
  void finalize();

  [[nodiscard]] std::uint32_t rank() const;  // application rank
  [[nodiscard]] std::uint32_t size() const;  // application ranks
  [[nodiscard]] std::uint32_t incarnation() const;
  // Seconds this rank spent waiting for its head in snapshot() so far.
  [[nodiscard]] double waited_seconds() const;

  friend struct ::cairn_session;

 protected:
  explicit SessionBase(std::unique_ptr<SessionImpl> impl);
  [[nodiscard]] SessionImpl& impl() { return *impl_; }
  // Lets go of the job, as the destructor does. A class that owns the session's communicators calls this before it
  // frees them.
  void close();

 private:
  template <class T>
  static detail::RegionAccess describe() {
    detail::RegionAccess access;
    access.element = detail::element_of<T>();
    access.element_bytes = sizeof(T);
    if (access.element == Element::opaque) access.type_name = typeid(T).name();
    return access;
  }
  template <class C>
  static detail::RegionAccess access_to(C& container, std::optional<GlobalPlace> place) {
    auto access = describe<typename C::value_type>();
    // Part of an array of several dimensions: whole rows of it, one after another.
    if (place && place->shape.size() > 1) access.shape.assign(place->shape.begin() + 1, place->shape.end());
    access.place = std::move(place);
    access.elements = [&container] { return static_cast<std::size_t>(container.size()); };
    access.resize = [&container](std::size_t n) { container.resize(n); };
    access.data = [&container]() -> void* { return container.data(); };
    return access;
  }
  void protect_access(const std::string& name, detail::RegionAccess access);

  std::unique_ptr<SessionImpl> impl_;
};

}  // namespace cairn
