// Whether this program's MPI calls come through the tap: they do where it was linked with libcairn-tap before MPI.
// Other tools may come between. Local; MPI has to be initialized.
#pragma once

namespace cairn::tap {

[[nodiscard]] bool is_intercepted();

}  // namespace cairn::tap
