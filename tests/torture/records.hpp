// What the records of the job's lives in the global store say.
#pragma once

#include <set>
#include <string>

#include "support/store_image.hpp"

namespace cairn::torture {

// Records of lives that ended the chain, by name; and those that cannot be read, since they may say so, too.
[[nodiscard]] std::set<std::string> records_of_an_end(const test::StoreImage& global);

}  // namespace cairn::torture
