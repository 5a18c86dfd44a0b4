// How heat is run, whoever starts it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "torture/mpi/starter.hpp"

namespace cairn::torture {

// The program and its arguments.
[[nodiscard]] std::vector<std::string> heat_command(const Programs& programs, const std::filesystem::path& config,
                                                    const std::filesystem::path& plate, const std::string& pause_ms);
// The plate of such a run that nothing happens to, which is made in a directory below `root`. Empty: it does not run.
[[nodiscard]] std::string undisturbed_plate(const Programs& programs, const std::filesystem::path& root);

}  // namespace cairn::torture
