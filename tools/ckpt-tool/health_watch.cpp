#include "health_watch.hpp"

#include <fmt/format.h>

#include "base/clock.hpp"
#include "config/config.hpp"
#include "store/names.hpp"

namespace ckpt_tool {

cairn::Result<Watched> look_for_heads(const Target& target, const OpenStores& opened) {
  Watched watched;
  if (!target.config.empty()) {
    const auto source = cairn::read_config_source(target.config);
    const auto config = source ? cairn::parse_config(*source) : cairn::fail(source.error());
    if (!config) return cairn::fail(config.error());
    watched.off = !config->localize.on;
  }
  const auto text = read_text(*opened.stores.global, cairn::names::watch());
  if (!text && text.error().code == cairn::Code::not_found) return watched;
  const auto file =
      text ? parse_watch_file(*text, opened.stores.sealer_at(cairn::StoreId::global())) : cairn::fail(text.error());
  if (!file) {
    complain(file.error().in_file(cairn::names::watch().path).text());
    return watched;
  }
  const auto today = static_cast<std::uint64_t>(cairn::seconds_of_today().count());
  watched.last = *file;
  watched.age = today > file->looked ? today - file->looked : 0;
  return watched;
}

std::string watch_text(const Watched& watched) {
  if (watched.now()) {
    return fmt::format("watched by {} of {} heads, last look {} s ago{}", watched.last->watching, watched.last->heads,
                       watched.age, watched.last->calls ? "" : "; no MPI calls are recorded, so hangs are not found");
  }
  if (watched.off) return "not watched: [localize] mode = off";
  if (!watched.last)
    return "not watched: no run is under way whose heads are ranks of their own and which has called restore()";
  return fmt::format("not watched: the last look, in run {}, was {} ago", watched.last->life.value,
                     duration_text(static_cast<double>(watched.age)));
}

Json watch_json(const Watched& watched) {
  Json json{{"watched", watched.now()}, {"text", watch_text(watched)}};
  if (!watched.last) return json;
  json["run"] = watched.last->life.value;
  json["ranks"] = watched.last->ranks;
  json["heads"] = watched.last->heads;
  json["watching"] = watched.last->watching;
  json["calls"] = watched.last->calls;
  json["seconds_ago"] = watched.age;
  return json;
}

}  // namespace ckpt_tool
