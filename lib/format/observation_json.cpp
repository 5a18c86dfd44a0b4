#include "format/observation_json.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/plain_text.hpp"
#include "localize/names.hpp"

namespace cairn {

using localize::Observation;
using localize::Time;

namespace {

double seconds_of(Time time) { return std::chrono::duration<double>(std::max(time, Time{})).count(); }
Time time_of(const JsonView& seconds) {
  constexpr double kMost = 1e9;
  return Time(std::llround(std::min(seconds.real(), kMost) * 1e6));
}

}  // namespace

void put_rank(Json& json, const std::optional<Rank>& rank) {
  if (rank) json["rank"] = rank->value;
}
std::optional<Rank> rank_of(const JsonView& json) {
  return json.has("rank") ? std::optional(Rank{json["rank"].number32()}) : std::nullopt;
}

Json to_json(const Observation& seen) {
  Json json{{"symptom", localize::name_of(seen.kind)}};
  put_rank(json, seen.suspect.rank);
  json["reporter"] = seen.reporter.value;
  json["count"] = seen.count;
  json["worst"] = seen.worst;
  json["first"] = seconds_of(seen.first);
  json["last"] = seconds_of(seen.last);
  if (!seen.note.empty()) json["note"] = seen.note;
  return json;
}

Observation read_observation(const JsonView& json, NodeId node) {
  Observation seen;
  seen.kind = known_value(json["symptom"], localize::symptom_named(json["symptom"].text()));
  seen.suspect = {node, rank_of(json)};
  seen.reporter.value = json["reporter"].number32();
  seen.count = json["count"].number32();
  seen.worst = json["worst"].real();
  seen.first = time_of(json["first"]);
  seen.last = time_of(json["last"]);
  if (json.has("note")) seen.note = plain_text(json["note"].text(), kMostNoteBytes);
  return seen;
}

}  // namespace cairn
