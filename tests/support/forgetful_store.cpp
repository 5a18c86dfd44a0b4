#include "support/forgetful_store.hpp"

#include <utility>

#include "store/names.hpp"

namespace cairn::test {
namespace {

std::string kind_of(const std::string& path) {
  const std::string name = path.substr(path.find('/') + 1);
  if (names::parse_shard(name)) return "shard";
  if (names::parse_copy(name)) return "copy";
  if (names::parse_parity(name)) return "parity";
  if (names::parse_run_record(name)) return "run record";
  if (names::parse_snapshot(path)) return "snapshot";
  if (name == names::chain_mark().path) return "chain mark";
  if (name == names::costs().path) return "costs";
  if (name == names::manifest({}).path) return "manifest";
  if (name == names::master_file({}).path) return "master";
  return "node file";
}

class ForgetfulWriter final : public Writer {
 public:
  struct Parts {
    std::shared_ptr<ForgetfulDisk> disk;
    std::shared_ptr<FaultPlan> power;
    std::shared_ptr<SyncPlaces> syncs;
    std::string place;
    std::string path;
    std::string owner;
  };
  ForgetfulWriter(std::unique_ptr<Writer> writer, ForgetfulDisk::File file, Parts parts)
      : writer_(std::move(writer)), file_(std::move(file)), parts_(std::move(parts)) {}
  ~ForgetfulWriter() override {
    if (file_) parts_.disk->give_back(file_, parts_.owner);
  }
  ForgetfulWriter(const ForgetfulWriter&) = delete;
  ForgetfulWriter& operator=(const ForgetfulWriter&) = delete;

  MutableBytes mapping() override { return {}; }
  Status write(std::uint64_t offset, Bytes bytes) override {
    const auto fate = parts_.power->next();
    if (fate == FaultPlan::Fate::tears) parts_.disk->write(file_, offset, bytes.first(bytes.size() / 2));
    if (fate != FaultPlan::Fate::runs) return parts_.power->injected(parts_.path);
    if (auto written = writer_->write(offset, bytes); !written) return written;
    parts_.disk->write(file_, offset, bytes);
    return {};
  }
  Status read(std::uint64_t offset, MutableBytes into) override { return writer_->read(offset, into); }
  Status commit(std::uint64_t size_bytes, bool sync) override {
    const bool durable = sync && parts_.syncs->makes(parts_.place);
    const auto operation = [&] { return parts_.power->operation(parts_.path); };
    if (auto on = operation(); !on) return on;
    parts_.disk->set_length(file_, size_bytes);
    if (durable) {
      parts_.disk->sync(file_);
      if (auto on = operation(); !on) return on;
    }
    if (auto named = writer_->commit(size_bytes, sync); !named) return named;
    parts_.disk->name(std::exchange(file_, nullptr), parts_.path);
    if (!durable) return {};
    if (auto on = operation(); !on) return on;
    parts_.disk->sync_names(parts_.path);
    return {};
  }

 private:
  std::unique_ptr<Writer> writer_;
  ForgetfulDisk::File file_;  // none: committed
  Parts parts_;
};

}  // namespace

bool SyncPlaces::makes(const std::string& place) {
  const std::scoped_lock lock(mutex_);
  ++made_[place];
  return place != without_;
}

std::map<std::string, std::uint64_t> SyncPlaces::made() const {
  const std::scoped_lock lock(mutex_);
  return made_;
}

ForgetfulStore::ForgetfulStore(std::string kind, std::shared_ptr<Store> store, std::shared_ptr<ForgetfulDisk> disk,
                               std::shared_ptr<FaultPlan> power, std::shared_ptr<SyncPlaces> syncs)
    : kind_(std::move(kind)),
      store_(std::move(store)),
      disk_(std::move(disk)),
      power_(std::move(power)),
      syncs_(std::move(syncs)) {}

std::string ForgetfulStore::place(const std::string& step, const std::string& path) const {
  return step + " " + kind_ + " " + kind_of(path);
}

template <class Run, class Note>
Status ForgetfulStore::change(const std::string& path, Run run, Note note) {
  if (auto on = power_->operation(where() + "/" + path); !on) return on;
  Status done = run();
  if (done) note();
  return done;
}

Result<std::unique_ptr<Writer>> ForgetfulStore::create(const FileName& name, std::uint64_t size_bytes,
                                                       const std::string& owner) {
  if (auto on = power_->operation(where() + "/" + name.path); !on) return fail(on.error());
  auto writer = store_->create(name, size_bytes, owner);
  if (!writer) return writer;
  return std::make_unique<ForgetfulWriter>(
      std::move(*writer), disk_->make(name.path, size_bytes, owner),
      ForgetfulWriter::Parts{disk_, power_, syncs_, place("commit", name.path), name.path, owner});
}

Result<std::unique_ptr<Reader>> ForgetfulStore::open(const FileName& name) const {
  if (auto on = power_->reading(where() + "/" + name.path); !on) return fail(on.error());
  return store_->open(name);
}

Result<std::vector<Entry>> ForgetfulStore::list(const DirName& directory) const {
  if (auto on = power_->reading(where() + "/" + directory.path); !on) return fail(on.error());
  return store_->list(directory);
}

Status ForgetfulStore::patch(const FileName& name, std::uint64_t offset, Bytes bytes) {
  return change(
      name.path, [&] { return store_->patch(name, offset, bytes); }, [&] { disk_->write(name.path, offset, bytes); });
}

Status ForgetfulStore::sync(const FileName& name) {
  return change(
      name.path, [&] { return store_->sync(name); },
      [&] {
        if (syncs_->makes(place("sync", name.path))) disk_->sync(name.path);
      });
}

Status ForgetfulStore::retire(const FileName& name, const std::string& owner) {
  return change(
      name.path, [&] { return store_->retire(name, owner); }, [&] { disk_->retire(name.path, owner); });
}

Status ForgetfulStore::remove(const FileName& name) {
  return change(
      name.path, [&] { return store_->remove(name); }, [&] { disk_->remove(name.path); });
}

Status ForgetfulStore::remove_directory(const DirName& name) {
  return change(
      name.path, [&] { return store_->remove_directory(name); }, [&] { disk_->remove_directory(name.path); });
}

Status ForgetfulStore::rename_directory(const DirName& from, const DirName& to) {
  auto renamed = change(
      from.path, [&] { return store_->rename_directory(from, to); },
      [&] { disk_->rename_directory(from.path, to.path); });
  if (!renamed || !syncs_->makes(place("rename", from.path))) return renamed;
  return change(
      to.path, [] { return Status{}; }, [&] { disk_->sync_top(); });
}

Status ForgetfulStore::clean() {
  return change(
      "", [&] { return store_->clean(); }, [&] { disk_->clean(); });
}

}  // namespace cairn::test
