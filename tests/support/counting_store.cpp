#include "support/counting_store.hpp"

#include <utility>

namespace cairn::test {
namespace {

class CountingReader final : public Reader {
 public:
  CountingReader(std::unique_ptr<Reader> reader, std::shared_ptr<CountingStore::Tally> tally)
      : reader_(std::move(reader)), tally_(std::move(tally)) {}

  [[nodiscard]] std::uint64_t size_bytes() const override { return reader_->size_bytes(); }
  [[nodiscard]] Status read(std::uint64_t offset, MutableBytes into) const override {
    ++tally_->reads;
    tally_->bytes += into.size();
    return reader_->read(offset, into);
  }
  [[nodiscard]] Bytes mapping() const override { return {}; }

 private:
  std::unique_ptr<Reader> reader_;
  std::shared_ptr<CountingStore::Tally> tally_;
};

}  // namespace

CountingStore::CountingStore(std::shared_ptr<Store> store, Hook hook)
    : HookedStore(std::move(store), std::move(hook)) {}

Readings CountingStore::readings() const { return {tally_->lists, tally_->opens, tally_->reads, tally_->bytes}; }

Result<std::unique_ptr<Reader>> CountingStore::open(const FileName& name) const {
  ++tally_->opens;
  on_open(name);
  auto reader = HookedStore::open(name);
  if (!reader) return reader;
  return std::make_unique<CountingReader>(std::move(*reader), tally_);
}

Result<std::vector<Entry>> CountingStore::list(const DirName& directory) const {
  ++tally_->lists;
  return HookedStore::list(directory);
}

}  // namespace cairn::test
