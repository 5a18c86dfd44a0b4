#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "store/memory/memory_state.hpp"

namespace cairn {

namespace {

// What is written beyond the announced size goes to a tail, so that the mapping handed out stays where it is.
class MemoryWriter final : public Writer {
 public:
  MemoryWriter(std::shared_ptr<MemoryState> state, FileName name, MemoryFilePtr file, std::string owner, bool recycled)
      : state_(std::move(state)),
        name_(std::move(name)),
        file_(std::move(file)),
        owner_(std::move(owner)),
        recycled_(recycled),
        life_(state_->life) {}

  ~MemoryWriter() override {
    if (!file_) return;
    const std::lock_guard guard(state_->mutex);
    if (state_->life != life_) return;
    state_->used_bytes -= tail_.size();
    if (recycled_) {
      state_->retired.emplace(owner_, std::move(file_));
    } else {
      state_->used_bytes -= file_->bytes.size();
    }
  }
  MemoryWriter(const MemoryWriter&) = delete;
  MemoryWriter& operator=(const MemoryWriter&) = delete;

  MutableBytes mapping() override { return file_ ? MutableBytes(file_->bytes) : MutableBytes{}; }

  Status write(std::uint64_t offset, Bytes bytes) override {
    if (auto open = check_open(); !open) return open;
    auto grown = grow(offset + bytes.size());
    if (!grown) return grown;
    pieces(offset, bytes.size(), [&](std::byte* here, std::size_t from, std::size_t count) {
      std::copy_n(bytes.data() + from, count, here);
    });
    return {};
  }

  Status read(std::uint64_t offset, MutableBytes into) override {
    if (auto open = check_open(); !open) return open;
    if (offset > size() || into.size() > size() - offset) {
      return fail_in_file(Code::corrupt, path(),
                          fmt::format("has {} bytes; cannot read {} bytes at {}", size(), into.size(), offset));
    }
    pieces(offset, into.size(), [&](const std::byte* here, std::size_t from, std::size_t count) {
      std::copy_n(here, count, into.data() + from);
    });
    return {};
  }

  Status commit(std::uint64_t size_bytes, bool /*memory has nothing to sync to*/) override {
    if (auto open = check_open(); !open) return open;
    auto grown = grow(size_bytes);
    if (!grown) return grown;

    const std::lock_guard guard(state_->mutex);
    if (state_->life != life_)
      return fail_in_file(Code::io, path(), "the store was lost while the file was being written");
    const std::string directory = directory_of(name_.path);
    if (!directory.empty() && !state_->directories.contains(directory)) {
      return fail_in_file(Code::not_found, path(), "its directory was removed");
    }
    state_->used_bytes -= size() - size_bytes;
    file_->bytes.insert(file_->bytes.end(), tail_.begin(), tail_.end());
    file_->bytes.resize(size_bytes);
    if (const auto old = state_->take_out(name_.path)) state_->used_bytes -= old->bytes.size();
    state_->files[name_.path] = std::move(file_);
    return {};
  }

 private:
  [[nodiscard]] std::string path() const { return state_->path_of(name_.path); }
  [[nodiscard]] std::uint64_t size() const { return file_->bytes.size() + tail_.size(); }

  [[nodiscard]] Status check_open() const {
    if (file_) return {};
    return fail_in_file(Code::invalid_argument, path(), "is committed already");
  }

  [[nodiscard]] Status grow(std::uint64_t size_bytes) {
    if (size_bytes <= size()) return {};
    const std::lock_guard guard(state_->mutex);
    auto taken = state_->take(size_bytes - size(), path());
    if (taken) tail_.resize(size_bytes - file_->bytes.size());
    return taken;
  }

  // Calls use(memory, position in the range, count) for the part in the mapping and the part in the tail.
  template <class Use>
  void pieces(std::uint64_t offset, std::size_t count, Use use) {
    Buffer& front = file_->bytes;
    const std::size_t in_front = offset < front.size() ? std::min<std::size_t>(count, front.size() - offset) : 0;
    if (in_front > 0) use(front.data() + offset, 0, in_front);
    if (count > in_front) use(tail_.data() + (offset + in_front - front.size()), in_front, count - in_front);
  }

  std::shared_ptr<MemoryState> state_;
  FileName name_;
  MemoryFilePtr file_;
  Buffer tail_;
  std::string owner_;
  bool recycled_;
  std::uint64_t life_;
};

}  // namespace

std::unique_ptr<Writer> write_memory(std::shared_ptr<MemoryState> state, FileName name, MemoryFilePtr file,
                                     std::string owner, bool recycled) {
  return std::make_unique<MemoryWriter>(std::move(state), std::move(name), std::move(file), std::move(owner), recycled);
}

}  // namespace cairn
