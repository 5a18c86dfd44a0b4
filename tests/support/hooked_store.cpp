#include "support/hooked_store.hpp"

#include <utility>

namespace cairn::test {
namespace {

class HookedBell final : public Bell {
 public:
  HookedBell(std::unique_ptr<Bell> bell, std::function<void()> on_wait_for_head)
      : bell_(std::move(bell)), on_wait_for_head_(std::move(on_wait_for_head)) {}

  void ring(Who who) override { bell_->ring(who); }
  [[nodiscard]] std::uint32_t rings(Who who) const override { return bell_->rings(who); }
  void wait(Who who, std::uint32_t seen, std::chrono::microseconds limit) override {
    if (who == Who::ranks) on_wait_for_head_();
    bell_->wait(who, seen, limit);
  }

 private:
  std::unique_ptr<Bell> bell_;
  std::function<void()> on_wait_for_head_;
};

class HookedReader final : public Reader {
 public:
  HookedReader(std::unique_ptr<Reader> reader, std::string path, HookedStore::ReadHook on_read)
      : reader_(std::move(reader)), path_(std::move(path)), on_read_(std::move(on_read)) {}

  [[nodiscard]] std::uint64_t size_bytes() const override { return reader_->size_bytes(); }
  [[nodiscard]] Status read(std::uint64_t offset, MutableBytes into) const override {
    return on_read_(path_).and_then([&] { return reader_->read(offset, into); });
  }
  [[nodiscard]] Bytes mapping() const override { return {}; }

 private:
  std::unique_ptr<Reader> reader_;
  std::string path_;
  HookedStore::ReadHook on_read_;
};

class HookedWriter final : public Writer {
 public:
  HookedWriter(std::unique_ptr<Writer> writer, std::string path, HookedStore::ReadHook on_read)
      : writer_(std::move(writer)), path_(std::move(path)), on_read_(std::move(on_read)) {}

  [[nodiscard]] MutableBytes mapping() override { return {}; }
  [[nodiscard]] Status write(std::uint64_t offset, Bytes bytes) override { return writer_->write(offset, bytes); }
  [[nodiscard]] Status read(std::uint64_t offset, MutableBytes into) override {
    return on_read_(path_).and_then([&] { return writer_->read(offset, into); });
  }
  [[nodiscard]] Status commit(std::uint64_t size_bytes, bool sync) override {
    return writer_->commit(size_bytes, sync);
  }

 private:
  std::unique_ptr<Writer> writer_;
  std::string path_;
  HookedStore::ReadHook on_read_;
};

}  // namespace

using Kind = HookedStore::Operation::Kind;

Result<std::unique_ptr<Writer>> HookedStore::create(const FileName& name, std::uint64_t size_bytes,
                                                    const std::string& owner) {
  if (auto status = hook_({Kind::create, name.path, owner}); !status) return fail(status.error());
  if (!on_read) return store_->create(name, size_bytes, owner);
  return store_->create(name, size_bytes, owner).map([&](std::unique_ptr<Writer> writer) -> std::unique_ptr<Writer> {
    return std::make_unique<HookedWriter>(std::move(writer), name.path, on_read);
  });
}

Result<std::unique_ptr<Reader>> HookedStore::open(const FileName& name) const {
  if (!on_read) return store_->open(name);
  if (auto status = on_read(name.path); !status) return fail(status.error());
  return store_->open(name).map([&](std::unique_ptr<Reader> reader) -> std::unique_ptr<Reader> {
    return std::make_unique<HookedReader>(std::move(reader), name.path, on_read);
  });
}

Status HookedStore::patch(const FileName& name, std::uint64_t offset, Bytes bytes) {
  if (auto status = hook_({Kind::patch, name.path, {}}); !status) return status;
  return store_->patch(name, offset, bytes);
}

Status HookedStore::sync(const FileName& name) {
  if (auto status = hook_({Kind::sync, name.path, {}}); !status) return status;
  return store_->sync(name);
}

Result<std::vector<Entry>> HookedStore::list(const DirName& directory) const {
  if (on_read && !directory.path.empty()) {
    if (auto status = on_read(directory.path); !status) return fail(status.error());
  }
  return store_->list(directory);
}

Status HookedStore::retire(const FileName& name, const std::string& owner) {
  if (auto status = hook_({Kind::retire, name.path, owner}); !status) return status;
  return store_->retire(name, owner);
}

Status HookedStore::remove(const FileName& name) {
  if (auto status = hook_({Kind::remove, name.path, {}}); !status) return status;
  return store_->remove(name);
}

Status HookedStore::remove_directory(const DirName& name) {
  if (auto status = hook_({Kind::remove_directory, name.path, {}}); !status) return status;
  return store_->remove_directory(name);
}

Status HookedStore::rename_directory(const DirName& from, const DirName& to) {
  if (auto status = hook_({Kind::rename_directory, from.path, {}}); !status) return status;
  return store_->rename_directory(from, to);
}

Status HookedStore::clean() {
  if (auto status = hook_({Kind::clean, {}, {}}); !status) return status;
  return store_->clean();
}

Result<std::unique_ptr<Bell>> HookedStore::bell() {
  if (on_bell) {
    if (auto status = on_bell(); !status) return fail(status.error());
  }
  auto bell = store_->bell();
  if (!bell || !on_wait_for_head) return bell;
  return std::make_unique<HookedBell>(std::move(*bell), on_wait_for_head);
}

}  // namespace cairn::test
