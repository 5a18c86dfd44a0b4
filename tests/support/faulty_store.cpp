#include "support/faulty_store.hpp"

#include <utility>

#include <fmt/format.h>

namespace cairn::test {

namespace {

// A number that depends on nothing but its arguments (FNV-1a, then the finisher of SplitMix64).
std::uint64_t draw(std::uint64_t seed, std::string_view name, std::uint64_t offset) {
  std::uint64_t value = seed ^ 0xcbf29ce484222325U;
  for (const char letter : name) value = (value ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  value += offset * 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

class FaultyWriter final : public Writer {
 public:
  FaultyWriter(std::unique_ptr<Writer> writer, std::shared_ptr<FaultPlan> plan, std::string path, bool shows_mapping)
      : writer_(std::move(writer)), plan_(std::move(plan)), path_(std::move(path)), shows_mapping_(shows_mapping) {}

  MutableBytes mapping() override { return shows_mapping_ ? writer_->mapping() : MutableBytes{}; }
  Status write(std::uint64_t offset, Bytes bytes) override {
    const auto fate = plan_->next();
    if (fate == FaultPlan::Fate::runs) return writer_->write(offset, bytes);
    if (fate == FaultPlan::Fate::tears) (void)writer_->write(offset, bytes.first(bytes.size() / 2));
    return plan_->injected(path_);
  }
  Status read(std::uint64_t offset, MutableBytes into) override {
    const auto allowed = plan_->reading(path_);
    return allowed ? writer_->read(offset, into) : allowed;
  }
  Status commit(std::uint64_t size_bytes, bool sync) override {
    const auto allowed = plan_->operation(path_);
    return allowed ? writer_->commit(size_bytes, sync) : allowed;
  }

 private:
  std::unique_ptr<Writer> writer_;
  std::shared_ptr<FaultPlan> plan_;
  std::string path_;
  bool shows_mapping_;
};

class FaultyReader final : public Reader {
 public:
  FaultyReader(std::unique_ptr<Reader> reader, std::shared_ptr<FaultPlan> plan, std::string path, std::string name)
      : reader_(std::move(reader)), plan_(std::move(plan)), path_(std::move(path)), name_(std::move(name)) {}

  [[nodiscard]] std::uint64_t size_bytes() const override { return reader_->size_bytes(); }
  Status read(std::uint64_t offset, MutableBytes into) const override {
    const auto allowed = plan_->reading(path_);
    if (!allowed) return allowed;
    const auto done = reader_->read(offset, into);
    return done ? plan_->damage(name_, offset, into) : done;
  }
  // Under damage to reads, all bytes have to come by read().
  [[nodiscard]] Bytes mapping() const override { return plan_->damages_reads() ? Bytes{} : reader_->mapping(); }

 private:
  std::unique_ptr<Reader> reader_;
  std::shared_ptr<FaultPlan> plan_;
  std::string path_;
  std::string name_;
};

}  // namespace

void FaultPlan::crash_at(std::uint64_t n, bool reads_too) {
  crash_ = true;
  reads_too_ = reads_too;
  fail_at_ = n;
}

void FaultPlan::fail_once_at(std::uint64_t n) {
  crash_ = false;
  fail_at_ = n;
}

void FaultPlan::heal() {
  fail_at_ = kNever;
  crash_ = false;
  reads_too_ = false;
  failed_ = false;
  operations_ = 0;
}

void FaultPlan::flip_bits_on_read(std::uint64_t seed, std::uint64_t one_in) {
  flip_seed_ = seed;
  flip_one_in_ = one_in;
}

void FaultPlan::shorten_reads(std::uint64_t seed, std::uint64_t one_in) {
  shorten_seed_ = seed;
  shorten_one_in_ = one_in;
}

tl::unexpected<Error> FaultPlan::injected(std::string_view thing) const {
  return fail(code_, fmt::format("{}: injected", thing));
}

FaultPlan::Fate FaultPlan::next() {
  const std::uint64_t number = operations_.fetch_add(1);
  const std::uint64_t fail_at = fail_at_;
  if (crash_ ? number < fail_at : number != fail_at) return Fate::runs;
  if (!failed_.exchange(true)) on_first_failure_();
  return crash_ && number == fail_at ? Fate::tears : Fate::fails;
}

Status FaultPlan::operation(std::string_view thing) {
  if (next() == Fate::runs) return {};
  return injected(thing);
}

Status FaultPlan::reading(std::string_view thing) const {
  if (crash_ && reads_too_ && failed_) return injected(thing);
  return {};
}

Status FaultPlan::damage(const std::string& name, std::uint64_t offset, MutableBytes read) const {
  if (read.empty()) return {};
  const std::uint64_t shorten = draw(shorten_seed_, name, offset);
  if (shorten_one_in_ != 0 && shorten % shorten_one_in_ == 0) {
    return fail(Code::corrupt, fmt::format("{}: injected: ends inside the {} bytes at {}", name, read.size(), offset));
  }
  const std::uint64_t flip = draw(flip_seed_, name, offset);
  if (flip_one_in_ != 0 && flip % flip_one_in_ == 0) {
    const std::uint64_t bit = draw(flip, name, offset) % (8 * read.size());
    read[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
  }
  return {};
}

FaultyStore::FaultyStore(std::shared_ptr<Store> store, std::shared_ptr<FaultPlan> plan, Mappings mappings)
    : store_(std::move(store)), plan_(std::move(plan)), mappings_(mappings) {}

Result<std::unique_ptr<Writer>> FaultyStore::create(const FileName& name, std::uint64_t size_bytes,
                                                    const std::string& owner) {
  return run(name.path, [&]() -> Result<std::unique_ptr<Writer>> {
    auto writer = store_->create(name, size_bytes, owner);
    if (!writer) return writer;
    return std::make_unique<FaultyWriter>(std::move(*writer), plan_, where() + "/" + name.path,
                                          mappings_ == Mappings::shown);
  });
}

Result<std::unique_ptr<Reader>> FaultyStore::open(const FileName& name) const {
  const auto allowed = plan_->reading(where() + "/" + name.path);
  if (!allowed) return fail(allowed.error());
  auto reader = store_->open(name);
  if (!reader) return reader;
  return std::make_unique<FaultyReader>(std::move(*reader), plan_, where() + "/" + name.path, name.path);
}

Status FaultyStore::patch(const FileName& name, std::uint64_t offset, Bytes bytes) {
  const auto fate = plan_->next();
  if (fate == FaultPlan::Fate::runs) return store_->patch(name, offset, bytes);
  if (fate == FaultPlan::Fate::tears) (void)store_->patch(name, offset, bytes.first(bytes.size() / 2));
  return plan_->injected(where() + "/" + name.path);
}

Status FaultyStore::sync(const FileName& name) {
  return run(name.path, [&] { return store_->sync(name); });
}

Result<std::vector<Entry>> FaultyStore::list(const DirName& directory) const {
  const auto allowed = plan_->reading(where() + "/" + directory.path);
  if (!allowed) return fail(allowed.error());
  return store_->list(directory);
}

Status FaultyStore::retire(const FileName& name, const std::string& owner) {
  return run(name.path, [&] { return store_->retire(name, owner); });
}

Status FaultyStore::remove(const FileName& name) {
  return run(name.path, [&] { return store_->remove(name); });
}

Status FaultyStore::remove_directory(const DirName& name) {
  return run(name.path, [&] { return store_->remove_directory(name); });
}

Result<std::string> FaultyStore::directory_of_files(const DirName& name) {
  return run(name.path, [&] { return store_->directory_of_files(name); });
}

Status FaultyStore::rename_directory(const DirName& from, const DirName& to) {
  return run(from.path, [&] { return store_->rename_directory(from, to); });
}

Status FaultyStore::clean() {
  return run("", [&] { return store_->clean(); });
}

}  // namespace cairn::test
