// Whether the tap intercepts the MPI calls of this program: it does if libcairn-tap was linked before MPI. Other tools
// may be linked in between. Local. Requires: MPI is initialized.
#pragma once

namespace cairn::tap {

[[nodiscard]] bool is_intercepted();

}  // namespace cairn::tap
