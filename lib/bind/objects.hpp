// Functions of a program in C that save and load an object, as C++ has them.
#pragma once

#include <cairn/cairn.h>
#include <cairn/object.hpp>

namespace cairn::bind {

// Empty for NULL.
[[nodiscard]] SaveObject save_of(cairn_save save, void* data);
[[nodiscard]] LoadObject load_of(cairn_load load, void* data);

}  // namespace cairn::bind
