#include "hang_json.hpp"

#include <vector>

#include <fmt/format.h>

#include "hang/names.hpp"
#include "hang/text.hpp"

namespace ckpt_tool {
namespace {

using cairn::hang::HangReport;

Json json_of(const cairn::hang::Call& call) {
  Json json{{"call", call.name}};
  if (call.comm != 0) json["communicator"] = fmt::format("{:016x}", call.comm);
  if (is_message(call)) {
    json["peer"] = call.peer == cairn::kAnyPeer ? Json("any") : Json(call.peer);
    json["tag"] = call.tag == cairn::kAnyTag ? Json("any") : Json(call.tag);
  }
  if (call.kind == cairn::CallKind::collective) {
    json["number"] = call.number;
    if (call.peer >= 0) json["root"] = call.peer;
  }
  json["bytes"] = call.bytes;
  return json;
}

// "entries" only of a table that was full.
Json json_of(const cairn::hang::Gap& gap) {
  Json json{{"rank", gap.rank.value}, {"cause", name_of(gap.cause)}};
  if (const auto entries = entries_of(gap.cause); entries > 0) json["entries"] = entries;
  return json;
}

Json json_of(const HangReport& report, const cairn::hang::RankReport& rank) {
  Json json{{"rank", rank.rank.value}, {"state", name_of(rank.doing)}, {"seconds", rank.seconds}};
  json["progressed"] = rank.progressed;
  json["text"] = rank_text(report, rank);
  if (!rank.host.empty()) {
    json["host"] = rank.host;
    json["process"] = rank.process;
  }
  json["calls"] = Json::array();
  for (const cairn::hang::LastingCall& lasting : rank.lasting) {
    json["calls"].push_back(json_of(lasting.call));
    json["calls"].back()["requests"] = Json::array();
    for (const cairn::hang::Call& request : lasting.requests)
      json["calls"].back()["requests"].push_back(json_of(request));
  }
  json["polls_for"] = Json::array();
  for (const cairn::hang::Call& polled : rank.polled) json["polls_for"].push_back(json_of(polled));
  json["waits"] = rank.needs;
  json["any"] = rank.any;
  return json;
}

Json json_of(const HangReport& report, const cairn::hang::Need& need) {
  Json json{{"for", need.ranks},
            {"any", need.any},
            {"reason", name_of(need.reason)},
            {"certainty", name_of(need.certainty)},
            {"text", need_text(report, need)}};
  json["call"] = json_of(need.call);
  if (need.theirs) json["theirs"] = json_of(*need.theirs);
  if (need.reason == cairn::hang::Reason::collective_mismatch) json["agreeing"] = need.agreeing;
  return json;
}

Json json_of(const HangReport& report, const cairn::hang::Finding& finding) {
  Json json{{"cause", name_of(finding.cause)},     {"certainty", name_of(finding.certainty)},
            {"ranks", numbers(finding.ranks)},     {"since_seconds", finding.since_seconds},
            {"waiting", numbers(finding.waiting)}, {"waited_seconds", finding.waited_seconds}};
  if (finding.call) json["call"] = json_of(*finding.call);
  if (finding.need) json["wait"] = *finding.need;
  if (finding.cause == cairn::hang::Cause::circle) json["circle"] = Json::array();
  for (const cairn::hang::Step& step : finding.circle)
    json["circle"].push_back({{"rank", step.rank}, {"wait", step.need}});
  json["text"] = finding_texts(report, finding);
  return json;
}

}  // namespace

Json hang_json(const std::string& job, const HangReport& report) {
  Json json{{"job", job}, {"verdict", name_of(report.verdict)}, {"summary", summary_text(report)}};
  json["findings"] = Json::array();
  for (const cairn::hang::Finding& finding : report.findings) json["findings"].push_back(json_of(report, finding));
  json["notes"] = Json::array();
  for (const cairn::hang::Note& note : report.notes)
    json["notes"].push_back({{"cause", name_of(note.cause)}, {"ranks", numbers(note.ranks)}});
  json["note_texts"] = note_texts(report);
  json["communicators"] = Json::array();
  for (const auto& [id, comm] : report.comms) {
    json["communicators"].push_back({{"communicator", fmt::format("{:016x}", id)}, {"of_session", comm.is_session}});
    if (!comm.name.empty()) json["communicators"].back()["name"] = comm.name;
  }
  json["unseen"] = numbers(report.unseen);
  json["ranks"] = Json::array();
  for (const cairn::hang::RankReport& rank : report.ranks) json["ranks"].push_back(json_of(report, rank));
  // Ranks name these by their place: in a collective thousands of ranks wait for the same.
  json["waits"] = Json::array();
  for (const cairn::hang::Need& need : report.needs) json["waits"].push_back(json_of(report, need));
  json["unknown"] = Json::array();
  for (const cairn::hang::Gap& gap : report.gaps) json["unknown"].push_back(json_of(gap));
  return json;
}

}  // namespace ckpt_tool
