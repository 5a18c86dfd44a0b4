// An Error as a message to other members. Inverse pair; an unreadable message becomes an error that says so. Pure.
#pragma once

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace cairn {

[[nodiscard]] Buffer encode_error(const Error& error);
[[nodiscard]] Error decode_error(Bytes bytes);

}  // namespace cairn
