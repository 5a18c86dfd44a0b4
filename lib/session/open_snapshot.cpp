#include <cairn/open_snapshot.hpp>

#include <span>
#include <utility>

#include "session/exception.hpp"
#include "session/open_snapshot_impl.hpp"

namespace cairn {

OpenSnapshot::OpenSnapshot(std::unique_ptr<OpenSnapshotImpl> impl) : impl_(std::move(impl)) {}
OpenSnapshot::OpenSnapshot(OpenSnapshot&&) noexcept = default;
OpenSnapshot& OpenSnapshot::operator=(OpenSnapshot&&) noexcept = default;
OpenSnapshot::~OpenSnapshot() = default;

bool OpenSnapshot::is_open() const { return impl_ && impl_->is_open(); }

const OpenSnapshotImpl& OpenSnapshot::open() const {
  if (!impl_) value_or_throw<void>(fail(closed_snapshot()));
  answer(impl_->recoverable(), impl_->usable());
  return *impl_;
}

std::uint32_t OpenSnapshot::version() const { return open().snapshot().version.value; }
std::uint32_t OpenSnapshot::incarnation() const { return open().snapshot().incarnation.value; }
const std::string& OpenSnapshot::label() const { return open().notes().label; }
const std::vector<Attribute>& OpenSnapshot::attributes() const { return open().notes().attributes; }
const std::vector<SnapshotRegion>& OpenSnapshot::regions() const { return open().regions(); }

std::size_t OpenSnapshot::read(const std::string& name, void* into, std::size_t capacity) const {
  return value_or_throw(open().read(name, {static_cast<std::byte*>(into), into == nullptr ? 0 : capacity}));
}

void OpenSnapshot::extract(const std::string& name, const std::string& path) const {
  value_or_throw(open().extract(name, path));
}

std::size_t OpenSnapshot::elements_of(const std::string& name, const Type& type) const {
  RegionInfo wanted;
  wanted.type = static_cast<ElementType>(type.element);
  wanted.element_bytes = static_cast<std::uint32_t>(type.bytes);
  if (type.element == Element::opaque) wanted.type_name = type.name;
  return value_or_throw(open().elements_of(name, wanted));
}

bool OpenSnapshot::close(bool good) {
  static_cast<void>(open());
  const bool recoverable = impl_->recoverable();
  return answer(recoverable, impl_->close(good));
}

}  // namespace cairn
