#include "format/watch_file.hpp"

#include "format/json_file.hpp"
#include "format/json_view.hpp"
#include "format/layout_json.hpp"

namespace cairn {
namespace {

constexpr std::string_view kWatchKind = "watch";
// Far beyond any clock: no sum with it overflows.
constexpr std::uint64_t kLatest = std::uint64_t{1} << 40U;

}  // namespace

std::string to_json(const WatchFile& watch, const Sealer& sealer) {
  Json json{{"kind", kWatchKind}, {"format", sealer.format(kRecordFormats)}};
  json["incarnation"] = watch.life.value;
  json["ranks"] = watch.ranks;
  json["heads"] = watch.heads;
  json["watching"] = watch.watching;
  json["calls"] = watch.calls;
  json["looked"] = watch.looked;
  return sealer.seal(json);
}

Result<WatchFile> parse_watch_file(const std::string& text, const Sealer& sealer) {
  return read_json<WatchFile>(text, kWatchKind, sealer, [](const JsonView& root) {
    WatchFile watch;
    watch.life = {root["incarnation"].number32()};
    watch.ranks = root["ranks"].number32();
    watch.heads = root["heads"].number32();
    watch.watching = root["watching"].number32();
    watch.calls = root["calls"].boolean();
    watch.looked = root["looked"].number(kLatest);
    if (watch.watching > watch.heads) root["watching"].complain("is more than all heads");
    return watch;
  });
}

}  // namespace cairn
