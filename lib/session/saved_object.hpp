// An object of the application that is saved and loaded by functions of its own. Its bytes are here from save() until
// they are written, and from a restore's read until load().
#pragma once

#include <cairn/object.hpp>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace cairn {

class SavedObject {
 public:
  SavedObject(SaveObject save, LoadObject load) : save_(std::move(save)), load_(std::move(load)) {}

  // Inverse pair. An error says what the application's function did. load() frees the bytes.
  [[nodiscard]] Status save();
  [[nodiscard]] Status load();
  void free() { Buffer().swap(bytes_); }
  [[nodiscard]] Buffer& bytes() { return bytes_; }

 private:
  SaveObject save_;
  LoadObject load_;
  Buffer bytes_;
};

}  // namespace cairn
