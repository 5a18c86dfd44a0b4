// Who may read a store: [storage] access.
#pragma once

namespace cairn {

// Nobody but the owner ever writes to it.
enum class Readers { owner, group };

}  // namespace cairn
