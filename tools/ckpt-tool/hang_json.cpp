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

Json nodes_of(const std::vector<cairn::NodeId>& nodes) {
  Json all = Json::array();
  for (const cairn::NodeId node : nodes) all.push_back(node.value);
  return all;
}

Json json_of(const cairn::hang::HeadReport& head) {
  return {{"node", head.node.value}, {"state", name_of(head.doing)}, {"host", head.host}, {"process", head.process}};
}

Json json_of(const HangReport& report, const cairn::hang::Need& need) {
  Json ranks = Json::array();
  Json heads = Json::array();
  for (const std::uint32_t one : need.ranks) {
    if (one < report.ranks.size())
      ranks.push_back(one);
    else
      heads.push_back(report.heads[one - report.ranks.size()].node.value);
  }
  Json json{{"for", std::move(ranks)},
            {"heads", std::move(heads)},
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
  Json json{{"cause", name_of(finding.cause)},         {"certainty", name_of(finding.certainty)},
            {"ranks", numbers(finding.ranks)},         {"heads", nodes_of(finding.heads)},
            {"since_seconds", finding.since_seconds},  {"waiting", numbers(finding.waiting)},
            {"waited_seconds", finding.waited_seconds}};
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
    json["notes"].push_back(
        {{"cause", name_of(note.cause)}, {"ranks", numbers(note.ranks)}, {"heads", nodes_of(note.heads)}});
  json["note_texts"] = note_texts(report);
  json["communicators"] = Json::array();
  for (const auto& [id, comm] : report.comms) {
    json["communicators"].push_back({{"communicator", fmt::format("{:016x}", id)}, {"of_session", comm.is_session}});
    if (!comm.name.empty()) json["communicators"].back()["name"] = comm.name;
  }
  json["unseen"] = numbers(report.unseen);
  json["ranks"] = Json::array();
  for (const cairn::hang::RankReport& rank : report.ranks) json["ranks"].push_back(json_of(report, rank));
  json["heads"] = Json::array();
  for (const cairn::hang::HeadReport& head : report.heads) json["heads"].push_back(json_of(head));
  // Ranks name these by their place: in a collective thousands of ranks wait for the same.
  json["waits"] = Json::array();
  for (const cairn::hang::Need& need : report.needs) json["waits"].push_back(json_of(report, need));
  json["unknown"] = Json::array();
  for (const cairn::hang::Gap& gap : report.gaps) json["unknown"].push_back(json_of(gap));
  return json;
}

}  // namespace ckpt_tool
