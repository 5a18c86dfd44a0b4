// A Store on a disk that forgets at a power cut what was not synced (see forgetful_disk.hpp). Each step that changes
// something, those inside a commit too, is an operation of a FaultPlan: the power goes where that says so.
//
// A test may take a sync out of the product: that of one place in it, told by what is synced, then does nothing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "support/faulty_store.hpp"
#include "support/forgetful_disk.hpp"

namespace cairn::test {

// The places that sync, such as "commit node manifest", "sync node shard", "rename global snapshot".
class SyncPlaces {
 public:
  void take_out(const std::string& place) { without_ = place; }
  // Counts one; whether it is to be made.
  [[nodiscard]] bool makes(const std::string& place);
  [[nodiscard]] std::map<std::string, std::uint64_t> made() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t> made_;
  std::string without_;
};

class ForgetfulStore final : public Store {
 public:
  // What the parts of a place's name say of the store: "node" or "global".
  ForgetfulStore(std::string kind, std::shared_ptr<Store> store, std::shared_ptr<ForgetfulDisk> disk,
                 std::shared_ptr<FaultPlan> power, std::shared_ptr<SyncPlaces> syncs);

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
  Status clean() override;
  Result<std::unique_ptr<Lock>> lock() override { return store_->lock(); }
  Result<std::unique_ptr<Bell>> bell() override { return store_->bell(); }
  Result<std::uint64_t> free_bytes() const override { return store_->free_bytes(); }
  std::string where() const override { return store_->where(); }

 private:
  // An operation on `path`: runs it, then notes it on the disk.
  template <class Run, class Note>
  Status change(const std::string& path, Run run, Note note);
  [[nodiscard]] std::string place(const std::string& step, const std::string& path) const;

  std::string kind_;
  std::shared_ptr<Store> store_;
  std::shared_ptr<ForgetfulDisk> disk_;
  std::shared_ptr<FaultPlan> power_;
  std::shared_ptr<SyncPlaces> syncs_;
};

}  // namespace cairn::test
