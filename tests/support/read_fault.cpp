#include "support/read_fault.hpp"

#include <utility>

#include "support/hooked_store.hpp"

namespace cairn::test {

void ReadFault::watch(Job& job) {
  job.wrap_node = [this](std::uint32_t /*node*/, std::shared_ptr<Store> store) { return wrap(std::move(store)); };
  job.wrap_global = [this](std::shared_ptr<Store> store) { return wrap(std::move(store)); };
}

void ReadFault::set(Plan plan) {
  armed_ = false;
  const std::scoped_lock lock(mutex_);
  plan_ = std::move(plan);
  count_ = 0;
  where_.clear();
  path_.clear();
  settled_ = false;
  written_anew_ = false;
}

void ReadFault::settle() {
  const std::scoped_lock lock(mutex_);
  settled_ = true;
}

bool ReadFault::struck() const {
  const std::scoped_lock lock(mutex_);
  return !where_.empty();
}

std::string ReadFault::path() const {
  const std::scoped_lock lock(mutex_);
  return path_;
}

std::shared_ptr<Store> ReadFault::wrap(std::shared_ptr<Store> store) {
  const std::string where = store->where();
  auto hooked = std::make_shared<HookedStore>(std::move(store), [this, where](const HookedStore::Operation& operation) {
    const std::scoped_lock lock(mutex_);
    if (operation.kind == HookedStore::Operation::Kind::create && where == where_ && operation.path == path_)
      written_anew_ = true;
    return Status{};
  });
  hooked->on_read = [this, where](const std::string& path) { return read(where, path); };
  return hooked;
}

Status ReadFault::read(const std::string& where, const std::string& path) {
  if (!armed_) return {};
  const std::scoped_lock lock(mutex_);
  if (where_.empty()) {
    if (settled_ || path.find(plan_.part) == std::string::npos || count_++ != plan_.at) return {};
    where_ = where;
    path_ = path;
  } else if (!plan_.lasts || written_anew_ || where != where_ || path != path_) {
    return {};
  }
  return fail(plan_.code, path + ": injected");
}

}  // namespace cairn::test
