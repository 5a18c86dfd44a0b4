#include "format/pins.hpp"

#include "format/json_file.hpp"
#include "format/layout_json.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

constexpr std::string_view kPinsKind = "pins";

Status write_pins(Store& global, const Pins& pins, const Sealer& sealer) {
  return write_json_text(global, names::pins(), pins_to_json(pins, sealer), kMostRecordBytes);
}

// Those whose snapshots are there.
Result<Pins> read_living_pins(const Store& global, const Sealer& sealer) {
  auto pins = read_pins(global, sealer);
  if (!pins) {
    Error error = pins.error();
    if (error.code == Code::corrupt) error.hint = "remove the file, then pin the snapshots again";
    return fail(std::move(error));
  }
  const auto entries = global.list(DirName{});
  if (!entries) return fail(entries.error());
  std::erase_if(*pins, [&](const Identity& one) { return !has_entry(*entries, FileName{names::snapshot(one).path}); });
  return pins;
}

}  // namespace

std::string pins_to_json(const Pins& pins, const Sealer& sealer) {
  Json json{{"kind", kPinsKind}, {"format", sealer.format(kRecordFormats)}, {"snapshots", Json::array()}};
  for (const Identity& snapshot : pins) put_identity(json["snapshots"].emplace_back(Json::object()), snapshot);
  return sealer.seal(json);
}

Result<Pins> parse_pins(const std::string& text, const Sealer& sealer) {
  return read_json<Pins>(text, kPinsKind, sealer, [](const JsonView& root) {
    Pins pins;
    const JsonView snapshots = root["snapshots"];
    for (std::size_t i = 0; i < snapshots.size() && snapshots.good(); ++i) pins.insert(identity_of(snapshots.at(i)));
    return pins;
  });
}

Result<Pins> read_pins(const Store& global, const Sealer& sealer) {
  const auto text = read_text(global, names::pins(), kMostRecordBytes);
  if (!text && text.error().code == Code::not_found) return Pins{};
  if (!text) return fail(text.error());
  auto pins = parse_pins(*text, sealer);
  if (!pins) return fail(pins.error().in_file(names::pins().path));
  return pins;
}

Status pin(Store& global, const Identity& snapshot, const Sealer& sealer) {
  auto pins = read_living_pins(global, sealer);
  if (!pins) return fail(pins.error());
  if (!pins->insert(snapshot).second) return {};
  return write_pins(global, *pins, sealer);
}

Status unpin(Store& global, const Identity& snapshot, const Sealer& sealer) {
  auto pins = read_living_pins(global, sealer);
  if (!pins) return fail(pins.error());
  pins->erase(snapshot);
  return write_pins(global, *pins, sealer);
}

}  // namespace cairn
