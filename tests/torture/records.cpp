#include "torture/records.hpp"

#include <nlohmann/json.hpp>

#include "store/names.hpp"

namespace cairn::torture {

std::set<std::string> records_of_an_end(const test::StoreImage& global) {
  std::set<std::string> found;
  for (const auto& [path, bytes] : global) {
    if (!names::parse_run_record(path)) continue;
    const auto* text = reinterpret_cast<const char*>(bytes.data());
    const auto json = nlohmann::json::parse(text, text + bytes.size(), nullptr, false);
    const auto finished = json.is_object() ? json.find("finished") : json.end();
    if (finished == json.end() || *finished != false) found.insert(path);
  }
  return found;
}

}  // namespace cairn::torture
