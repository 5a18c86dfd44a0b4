#include "store/pending_file.hpp"

namespace cairn {
namespace {

class WriterReader final : public Reader {
 public:
  WriterReader(Writer& writer, std::uint64_t bytes) : writer_(writer), bytes_(bytes) {}

  std::uint64_t size_bytes() const override { return bytes_; }
  Status read(std::uint64_t offset, MutableBytes into) const override { return writer_.read(offset, into); }
  Bytes mapping() const override {
    const MutableBytes mapping = writer_.mapping();
    return mapping.size() < bytes_ ? Bytes() : Bytes(mapping.first(bytes_));
  }

 private:
  Writer& writer_;
  std::uint64_t bytes_;
};

}  // namespace

std::unique_ptr<Reader> PendingFile::read_back() const { return std::make_unique<WriterReader>(*writer, bytes); }

}  // namespace cairn
