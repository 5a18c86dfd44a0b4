// Faults for tests, decided by a plan and by nothing in the library: a FaultPlan counts the operations that
// change something and says which of them fail; a FaultyStore is any Store under such a plan. One plan given to
// several stores, or to stores and comms, counts them as one, so that a sweep "fail at operation 0, 1, 2 …"
// spans a whole cluster.
//
//   auto plan = std::make_shared<FaultPlan>();
//   plan->crash_at(17);                             // the 18th operation and all later ones
//   FaultyStore store(real_store, plan);
//
// Thread-safe. An injected error has Code::io (or what inject_code says) and the word "injected".
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "store/store.hpp"

namespace cairn::test {

class FaultPlan {
 public:
  // The n-th operation (from 0) and all later ones fail: whoever works under the plan has crashed. A write or
  // patch that is the n-th leaves its first half. Reads, lists and opens then fail too, when asked.
  void crash_at(std::uint64_t n, bool reads_too = false);
  // Only the n-th operation fails, and does nothing.
  void fail_once_at(std::uint64_t n);
  // No operation fails from now on; counting starts over. Read faults stay.
  void heal();
  void inject_code(Code code) { code_ = code; }
  // Called when the first operation fails. To be set before the first operation.
  void on_first_failure(std::function<void()> call) { on_first_failure_ = std::move(call); }

  // About one read in `one_in` gives a flipped bit, or Code::corrupt as for a file that is too short. Which
  // ones depends only on the seed, the file's name and the place in it.
  void flip_bits_on_read(std::uint64_t seed, std::uint64_t one_in);
  void shorten_reads(std::uint64_t seed, std::uint64_t one_in);

  // Counts one operation on `thing`; its error when it is to fail.
  [[nodiscard]] Status operation(std::string_view thing);
  // The same for an operation that can be left half done: it is, when it is the one that crashes.
  enum class Fate { runs, tears, fails };
  [[nodiscard]] Fate next();
  [[nodiscard]] tl::unexpected<Error> injected(std::string_view thing) const;
  // The error of a read when the plan has crashed and reads fail too.
  [[nodiscard]] Status reading(std::string_view thing) const;
  // What is left of a read that went well.
  [[nodiscard]] Status damage(const std::string& name, std::uint64_t offset, MutableBytes read) const;
  [[nodiscard]] bool damages_reads() const { return flip_one_in_ != 0 || shorten_one_in_ != 0; }

  // Operations so far, failed ones included: a sweep ends at the first n that is not reached.
  [[nodiscard]] std::uint64_t operations() const { return operations_; }
  // Whether anything has failed by crash_at or fail_once_at.
  [[nodiscard]] bool has_failed() const { return failed_; }

 private:
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  std::atomic<std::uint64_t> operations_{0};
  std::atomic<std::uint64_t> fail_at_{kNever};
  std::atomic<bool> crash_{false};
  std::atomic<bool> reads_too_{false};
  std::atomic<bool> failed_{false};
  std::function<void()> on_first_failure_ = [] {};
  std::atomic<Code> code_{Code::io};
  std::atomic<std::uint64_t> flip_seed_{0};
  std::atomic<std::uint64_t> flip_one_in_{0};
  std::atomic<std::uint64_t> shorten_seed_{0};
  std::atomic<std::uint64_t> shorten_one_in_{0};
};

class FaultyStore final : public Store {
 public:
  // Whether writers show their mapping: what is written through it is not counted and cannot fail.
  enum class Mappings { hidden, shown };

  FaultyStore(std::shared_ptr<Store> store, std::shared_ptr<FaultPlan> plan, Mappings mappings = Mappings::hidden);

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
  Result<std::unique_ptr<Bell>> bell() override { return store_->bell(); }
  Result<std::string> directory_of_files(const DirName& name) override;
  Result<std::uint64_t> free_bytes() const override { return store_->free_bytes(); }
  std::string where() const override { return store_->where(); }

 private:
  // Counts the operation, then runs it unless it is to fail.
  template <class Operation>
  auto run(const std::string& name, Operation operation) -> decltype(operation()) {
    const auto allowed = plan_->operation(where() + "/" + name);
    if (!allowed) return fail(allowed.error());
    return operation();
  }

  std::shared_ptr<Store> store_;
  std::shared_ptr<FaultPlan> plan_;
  Mappings mappings_;
};

}  // namespace cairn::test
