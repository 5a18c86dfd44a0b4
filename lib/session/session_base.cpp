#include <cairn/session_base.hpp>

#include <utility>

#include "base/label.hpp"
#include "session/exception.hpp"
#include "session/open_snapshot_impl.hpp"
#include "session/session_impl.hpp"

namespace cairn {

ErrorKind kind_of(Code code) {
  switch (code) {
    case Code::invalid_argument: return ErrorKind::usage;
    case Code::config: return ErrorKind::config;
    case Code::no_space:
    case Code::io:
    case Code::not_found:  // a file that was there when it was written
    case Code::failed_elsewhere: return ErrorKind::storage;
    case Code::corrupt: return ErrorKind::corrupt;
    case Code::newer_format:
    case Code::untrusted:
    case Code::unreadable:
    case Code::version_unavailable:
    case Code::unrecoverable: return ErrorKind::unrecoverable;
    case Code::mismatch: return ErrorKind::mismatch;
    case Code::taken_over: return ErrorKind::taken_over;
    case Code::communication: return ErrorKind::communication;
  }
  return ErrorKind::usage;
}

namespace {

template <class T>
T answer(const SessionImpl& session, Result<T> result) {
  return answer(session.recoverable(), std::move(result));
}

}  // namespace

SessionBase::SessionBase(std::unique_ptr<SessionImpl> impl) : impl_(std::move(impl)) {}
SessionBase::SessionBase(SessionBase&&) noexcept = default;
SessionBase& SessionBase::operator=(SessionBase&&) noexcept = default;
SessionBase::~SessionBase() = default;
void SessionBase::close() { impl_.reset(); }

void SessionBase::protect_access(const std::string& name, detail::RegionAccess access) {
  answer(*impl_, impl_->protect(name, std::move(access)));
}

void SessionBase::protect_raw(const std::string& name, void* data, Element element, std::uint32_t element_bytes,
                              const std::string& type_name, std::vector<std::uint64_t> shape,
                              std::optional<GlobalPlace> place) {
  detail::RegionAccess access;
  access.element = element;
  access.element_bytes = element_bytes;
  access.type_name = type_name;
  access.shape = std::move(shape);
  access.place = std::move(place);
  access.object = data;
  protect_access(name, std::move(access));
}

void SessionBase::destination(const std::string& name, const std::string& path) {
  answer(*impl_, impl_->regions().set_destination(name, path));
}

std::string SessionBase::make_scratch_file(const std::string& name, detail::AnyKind kind) {
  return answer(*impl_, impl_->scratch_file(name, std::move(kind)));
}

void SessionBase::unprotect(const std::string& name) { answer(*impl_, impl_->unprotect(name)); }

void SessionBase::on_loss(SplitState split, MergeState merge) {
  if (!split || !merge) throw Exception(ErrorKind::usage, "on_loss: a function is empty");
  if (impl_->logged() != nullptr) impl_->logged()->on_loss({std::move(split), std::move(merge)});
}

RestoreReport SessionBase::restore() { return answer(*impl_, impl_->restore({}, {})); }

RestoreReport SessionBase::restore(std::uint32_t version) {
  if (version == 0) throw Exception(ErrorKind::usage, "restore: version 0 does not exist; versions begin with 1");
  return answer(*impl_, impl_->restore({}, {.version = Version{version}}));
}

RestoreReport SessionBase::restore(const Label& label) {
  if (const auto good = check_label(label.text); !good) value_or_throw<Status>(fail(good.error().in("restore")));
  return answer(*impl_, impl_->restore({}, {.label = label.text}));
}

RestoreReport SessionBase::restore(const std::string& name) {
  if (name.empty()) throw Exception(ErrorKind::usage, "restore: the name of the region is empty");
  return answer(*impl_, impl_->restore(name, {}));
}

OpenSnapshot SessionBase::open_snapshot() { return OpenSnapshot(answer(*impl_, impl_->open_snapshot({}))); }

OpenSnapshot SessionBase::open_snapshot(std::uint32_t version) {
  if (version == 0) throw Exception(ErrorKind::usage, "open_snapshot: version 0 does not exist; versions begin with 1");
  return OpenSnapshot(answer(*impl_, impl_->open_snapshot({.version = Version{version}})));
}

OpenSnapshot SessionBase::open_snapshot(const Label& label) {
  if (const auto good = check_label(label.text); !good) value_or_throw<Status>(fail(good.error().in("open_snapshot")));
  return OpenSnapshot(answer(*impl_, impl_->open_snapshot({.label = label.text})));
}

std::optional<std::uint64_t> SessionBase::stored(const std::string& name) {
  return answer(*impl_, impl_->stored(name));
}

std::optional<std::uint64_t> SessionBase::stored_total(const std::string& name) {
  return answer(*impl_, impl_->stored_total(name));
}

const RestoreReport& SessionBase::last_restore() const { return impl_->last_restore(); }

bool SessionBase::due() { return answer(*impl_, impl_->due()); }

std::optional<std::uint32_t> SessionBase::snapshot() {
  const auto version = answer(*impl_, impl_->snapshot({}));
  if (!version) return {};
  return version->value;
}

std::uint32_t SessionBase::snapshot(LevelId level) { return answer(*impl_, impl_->snapshot(level))->value; }

void SessionBase::label(const std::string& text) { answer(*impl_, impl_->notes().set_label(text)); }

void SessionBase::pin() { impl_->notes().pin(); }

void SessionBase::set_attribute(Attribute attribute) { answer(*impl_, impl_->notes().set(std::move(attribute))); }

void SessionBase::wait(LevelId level) { answer(*impl_, impl_->wait(level)); }

std::uint32_t SessionBase::safe_version(LevelId level) { return answer(*impl_, impl_->safe_version(level)).value; }

std::string SessionBase::storage_error() const { return impl_->storage_error(); }

void SessionBase::suspect(const std::string& text) { answer(*impl_, impl_->suspect(text)); }

bool SessionBase::should_stop() const { return impl_->should_stop(); }

void SessionBase::finalize() { answer(*impl_, impl_->finalize()); }

std::uint32_t SessionBase::rank() const { return impl_->rank().value; }

std::uint32_t SessionBase::size() const { return impl_->size(); }

std::uint32_t SessionBase::incarnation() const { return impl_->incarnation().value; }

double SessionBase::waited_seconds() const { return impl_->waited_seconds(); }

}  // namespace cairn
