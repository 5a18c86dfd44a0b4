// Messages of fault localization as bytes: between heads, and in the spool of a node store. Pure.
#pragma once

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "localize/messages.hpp"

namespace cairn::localize {

// Inverse pair. What comes back is safe to use: kinds, faults, probes and facts are known ones. Errors: communication.
[[nodiscard]] Buffer encode(const Message& message);
[[nodiscard]] Result<Message> decode_message(Bytes bytes);

}  // namespace cairn::localize
