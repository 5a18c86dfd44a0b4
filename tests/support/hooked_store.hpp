// Any Store, with a question asked before each operation that changes something: the test may refuse it, note it, or
// let it wait. So it may, if it wishes, before each that reads a file. Thread-safe if the hooks are.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "store/store.hpp"

namespace cairn::test {

class HookedStore : public Store {
 public:
  struct Operation {
    enum class Kind { create, patch, sync, retire, remove, remove_directory, rename_directory, clean } kind;
    std::string path;
    std::string owner;  // of create and retire
  };
  using Hook = std::function<Status(const Operation& operation)>;

  HookedStore(std::shared_ptr<Store> store, Hook hook) : store_(std::move(store)), hook_(std::move(hook)) {}

  // Asked before a file is opened and before each read of it, also by who writes it, and before a directory is listed,
  // but for the store's own. Files do not show their mappings then.
  using ReadHook = std::function<Status(const std::string& path)>;
  ReadHook on_read;

  // Called when somebody waits for the head.
  std::function<void()> on_wait_for_head;
  // Asked when somebody opens the bell; empty: it opens.
  std::function<Status()> on_bell;

  Result<std::unique_ptr<Writer>> create(const FileName& name, std::uint64_t size_bytes,
                                         const std::string& owner) override;
  Result<std::unique_ptr<Reader>> open(const FileName& name) const override;
  Status patch(const FileName& name, std::uint64_t offset, Bytes bytes) override;
  Status sync(const FileName& name) override;
  Result<std::vector<Entry>> list(const DirName& directory) const override;
  Status retire(const FileName& name, const std::string& owner) override;
  Status remove(const FileName& name) override;
  Status remove_directory(const DirName& name) override;
  Status rename_directory(const DirName& from, const DirName& to) override;
  Status reclaim(Writers whose) override { return store_->reclaim(whose); }
  Status clean() override;
  Result<std::unique_ptr<Lock>> lock() override { return store_->lock(); }
  Result<std::unique_ptr<Bell>> bell() override;
  Result<std::string> directory_of_files(const DirName& name) override { return store_->directory_of_files(name); }
  Result<std::uint64_t> free_bytes() const override { return store_->free_bytes(); }
  std::string where() const override { return store_->where(); }

 private:
  std::shared_ptr<Store> store_;
  Hook hook_;
};

}  // namespace cairn::test
