// A Store in the memory of this process: for tests, and for clusters of threads. An uncommitted file vanishes with its
// Writer. All users of one object share the store, as the processes of a node do, and only one of them can hold its
// lock.
//
// Tests can lose it all (wipe), damage a file, and bound its size.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "store/store.hpp"

namespace cairn {

class MemoryStore final : public Store {
 public:
  static constexpr std::uint64_t kUnbounded = std::numeric_limits<std::uint64_t>::max();

  // A full store returns Code::no_space, after it has given up all retired files. `where` is for messages.
  explicit MemoryStore(std::uint64_t capacity_bytes = kUnbounded, std::string where = "memory");
  ~MemoryStore() override;

  // Loses everything, like a node that goes down: what is being written cannot be committed any more.
  void wipe();
  // Flips one bit of a committed file in place: open Readers see it, also in their mappings.
  [[nodiscard]] Status corrupt(const FileName& name, std::uint64_t offset);
  // Cuts a committed file.
  [[nodiscard]] Status truncate(const FileName& name, std::uint64_t size_bytes);

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
  Result<std::unique_ptr<Lock>> lock() override;
  Result<std::unique_ptr<Bell>> bell() override;
  Result<std::unique_ptr<SharedFile>> share(const FileName& name, std::uint64_t size_bytes) override;
  Result<std::uint64_t> free_bytes() const override;
  std::string where() const override;

 private:
  std::shared_ptr<struct MemoryState> state_;
};

}  // namespace cairn
