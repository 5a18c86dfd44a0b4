#include "store/posix/posix_shared.hpp"

#include <fcntl.h>

#include <utility>

#include "store/posix/posix_mapping.hpp"

namespace cairn::posix {
namespace {

class MappedFile final : public SharedFile {
 public:
  explicit MappedFile(std::shared_ptr<Mapping> mapping) : mapping_(std::move(mapping)) {}
  [[nodiscard]] MutableBytes bytes() override { return mapping_->bytes(); }

 private:
  std::shared_ptr<Mapping> mapping_;
};

}  // namespace

Result<std::unique_ptr<SharedFile>> make_shared_file(const Place& place, std::uint64_t size_bytes) {
  const int directory = place.directory.get();
  if (auto gone = remove_file(directory, place.file, Pages::leave, place.path); !gone) return fail(gone.error());
  const auto file = open_file(directory, place.file, O_RDWR | O_CREAT | O_EXCL, place.path);
  if (!file) return fail(file.error());
  Result<std::shared_ptr<Mapping>> mapping = fail(Code::io, {});
  if (auto reserved = reserve(file->get(), size_bytes, place.path); reserved) {
    mapping = Mapping::map(file->get(), size_bytes, Mapping::Access::write, place.path);
  } else {
    mapping = fail(reserved.error());
  }
  if (!mapping) {
    (void)remove_file(directory, place.file, Pages::leave, place.path);
    return fail(mapping.error());
  }
  return std::make_unique<MappedFile>(std::move(*mapping));
}

}  // namespace cairn::posix
