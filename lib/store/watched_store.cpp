#include "store/watched_store.hpp"

#include <optional>
#include <utility>

namespace cairn {
namespace {

// Where operations are counted, and of which store they are.
struct Counter {
  std::shared_ptr<Store> store;
  std::shared_ptr<StoreCounts> counts;

  // The same result, counted.
  template <class T>
  Result<T> operator()(Result<T> result) const {
    using Outcome = StoreCounts::Outcome;
    const auto code = result ? std::nullopt : std::optional(result.error().code);
    counts->count(code == Code::io ? Outcome::failed : code == Code::no_space ? Outcome::refused : Outcome::other);
    if (code == Code::io || code == Code::no_space) counts->note_error(result.error().message);
    if (code != Code::no_space) return result;
    if (const auto free = store->free_bytes()) counts->note_free(*free);
    return result;
  }
};

class WatchedWriter final : public Writer {
 public:
  WatchedWriter(std::unique_ptr<Writer> writer, Counter counted)
      : writer_(std::move(writer)), counted_(std::move(counted)) {}
  MutableBytes mapping() override { return writer_->mapping(); }
  Status write(std::uint64_t offset, Bytes bytes) override { return counted_(writer_->write(offset, bytes)); }
  Status read(std::uint64_t offset, MutableBytes into) override { return counted_(writer_->read(offset, into)); }
  Status commit(std::uint64_t size_bytes, bool sync) override { return counted_(writer_->commit(size_bytes, sync)); }

 private:
  std::unique_ptr<Writer> writer_;
  Counter counted_;
};

class WatchedReader final : public Reader {
 public:
  WatchedReader(std::unique_ptr<Reader> reader, Counter counted)
      : reader_(std::move(reader)), counted_(std::move(counted)) {}
  std::uint64_t size_bytes() const override { return reader_->size_bytes(); }
  Status read(std::uint64_t offset, MutableBytes into) const override { return counted_(reader_->read(offset, into)); }
  Bytes mapping() const override { return reader_->mapping(); }

 private:
  std::unique_ptr<Reader> reader_;
  Counter counted_;
};

class WatchedStore final : public Store {
 public:
  WatchedStore(std::shared_ptr<Store> store, std::shared_ptr<StoreCounts> counts)
      : store_(store), counted_{std::move(store), std::move(counts)} {}

  Result<std::unique_ptr<Writer>> create(const FileName& name, std::uint64_t size_bytes,
                                         const std::string& owner) override {
    auto writer = counted_(store_->create(name, size_bytes, owner));
    if (!writer) return writer;
    return std::make_unique<WatchedWriter>(std::move(*writer), counted_);
  }
  Result<bool> warm_up(const std::string& owner, std::uint64_t size_bytes, std::uint32_t count) override {
    return counted_(store_->warm_up(owner, size_bytes, count));
  }
  Result<std::unique_ptr<Reader>> open(const FileName& name) const override {
    auto reader = counted_(store_->open(name));
    if (!reader) return reader;
    return std::make_unique<WatchedReader>(std::move(*reader), counted_);
  }
  Status patch(const FileName& name, std::uint64_t offset, Bytes bytes) override {
    return counted_(store_->patch(name, offset, bytes));
  }
  Status sync(const FileName& name) override { return counted_(store_->sync(name)); }
  Result<std::vector<Entry>> list(const DirName& directory) const override { return counted_(store_->list(directory)); }
  Status retire(const FileName& name, const std::string& owner) override {
    return counted_(store_->retire(name, owner));
  }
  Status remove(const FileName& name) override { return counted_(store_->remove(name)); }
  Status remove_directory(const DirName& name) override { return counted_(store_->remove_directory(name)); }
  Status remove_directory_later(const DirName& name) override { return counted_(store_->remove_directory_later(name)); }
  Status rename_directory(const DirName& from, const DirName& to) override {
    return counted_(store_->rename_directory(from, to));
  }
  Status reclaim(Writers whose) override { return counted_(store_->reclaim(whose)); }
  Status clean() override { return counted_(store_->clean()); }
  Result<std::unique_ptr<Lock>> lock() override { return store_->lock(); }
  Result<std::unique_ptr<Bell>> bell() override { return store_->bell(); }
  Result<std::unique_ptr<SharedFile>> share(const FileName& name, std::uint64_t size_bytes) override {
    return store_->share(name, size_bytes);
  }
  Result<std::string> directory_of_files(const DirName& name) override {
    return counted_(store_->directory_of_files(name));
  }
  Result<std::uint64_t> free_bytes() const override { return store_->free_bytes(); }
  std::string where() const override { return store_->where(); }

 private:
  std::shared_ptr<Store> store_;
  Counter counted_;
};

}  // namespace

std::shared_ptr<Store> watch_store(std::shared_ptr<Store> store, std::shared_ptr<StoreCounts> counts) {
  return std::make_shared<WatchedStore>(std::move(store), std::move(counts));
}

}  // namespace cairn
