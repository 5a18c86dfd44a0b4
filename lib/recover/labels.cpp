#include "recover/labels.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/plain_text.hpp"

namespace cairn {
namespace {

Buffer encode(const std::string& label, const KnownLabels& here) {
  ByteWriter out;
  out.put_text(label);
  out.put(static_cast<std::uint32_t>(here.snapshots.size()));
  for (const LabeledSnapshot& one : here.snapshots) {
    out.put(one.snapshot.incarnation.value);
    out.put(one.snapshot.version.value);
    out.put(one.snapshot.run.value);
    out.put_text(one.label);
  }
  for (const UnreadLabel& one : here.unread) {
    out.put(one.version.value);
    out.put(one.run.value);
    out.put_text(one.why);
  }
  return out.take();
}

// What all heads say.
struct Labels {
  std::set<std::string> asked;
  std::map<Identity, std::string> known;
  std::map<std::pair<Version, RunId>, std::string> unread;

  // Manifests of other nodes have the label, too.
  void forget_what_is_known() {
    for (const auto& [snapshot, label] : known) unread.erase({snapshot.version, snapshot.run});
    std::erase_if(known, [](const auto& one) { return one.second.empty(); });
  }
};

Status decode(Bytes bytes, Labels& into) {
  ByteReader in(bytes);
  if (auto label = in.get_text(); !label.empty()) into.asked.insert(std::move(label));
  const auto count = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && in.good(); ++i) {
    Identity snapshot;
    snapshot.incarnation.value = in.get<std::uint32_t>();
    snapshot.version.value = in.get<std::uint32_t>();
    snapshot.run.value = in.get<std::uint64_t>();
    std::string& label = into.known[snapshot];
    if (auto text = in.get_text(); !text.empty()) label = std::move(text);
  }
  while (in.good() && in.remaining() > 0) {
    const Version version{in.get<std::uint32_t>()};
    const RunId run{in.get<std::uint64_t>()};
    into.unread.emplace(std::pair(version, run), in.get_text());
  }
  return in.good() ? Status{} : fail_internal(Code::communication, "a head sent a damaged list of labels");
}

// The newest few, each with the newest version that has it.
std::string list_of(const std::map<Identity, std::string>& known) {
  constexpr std::size_t kMost = 8;
  std::vector<std::string> texts;
  std::set<std::string> named;
  const std::vector<std::pair<Identity, std::string>> newest_first(known.rbegin(), known.rend());
  for (const auto& [snapshot, label] : newest_first) {
    if (!named.insert(label).second) continue;
    if (named.size() <= kMost)
      texts.push_back(fmt::format("\"{}\" (version {})", escaped_for_terminal(label), snapshot.version.value));
  }
  if (named.size() > kMost) texts.push_back(fmt::format("{} more", named.size() - kMost));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

KnownLabels labels_here(const NodeContext& node, const std::vector<NodeManifest>& manifests,
                        const std::vector<Identity>& global, const std::vector<Unreadable>& unreadable) {
  KnownLabels here;
  for (const NodeManifest& manifest : manifests) here.snapshots.push_back({manifest.identity, manifest.notes.label});
  for (const Unreadable& what : unreadable) {
    if (!what.dir.path.empty()) here.unread.push_back({what.version, what.run, what.error.text()});
  }
  if (!node.leads()) return here;
  for (const Identity& snapshot : global) {
    const auto manifest = read_global_manifest(*node.global, node.dir(snapshot), node.sealer);
    if (manifest)
      here.snapshots.push_back({snapshot, manifest->notes.label});
    else
      here.unread.push_back({snapshot.version, snapshot.run, manifest.error().text()});
  }
  return here;
}

Result<Version> find_labeled(Comm& heads, const std::string& label, const KnownLabels& here, const Log& log) {
  const auto all = heads.allgather(encode(label, here));
  if (!all) return fail(all.error());
  Labels labels;
  for (const Buffer& bytes : *all) {
    if (auto status = decode(bytes, labels); !status) return fail(status.error());
  }
  labels.forget_what_is_known();
  if (labels.asked.size() != 1)
    return fail(Code::mismatch, "ranks asked for different labels",
                "every application rank must ask for the same version, or the same label");
  const std::string asked = escaped_for_terminal(*labels.asked.begin());
  const auto has_it = [&](const auto& one) { return one.second == *labels.asked.begin(); };
  const auto newest = std::find_if(labels.known.rbegin(), labels.known.rend(), has_it);
  if (newest != labels.known.rend()) {
    const Version found = newest->first.version;
    for (const auto& [snapshot, why] : labels.unread) {
      if (heads.rank().value == 0 && snapshot.first > found)
        log.warning(
            "the label \"{}\" means version {}; newer version {} may have it, too, but its label is unreadable: {}",
            asked, found.value, snapshot.first.value, why);
    }
    return found;
  }
  std::string none = fmt::format("no snapshot has the label \"{}\"", asked);
  none += labels.known.empty() ? ", nor any other" : fmt::format("; there are: {}", list_of(labels.known));
  for (const auto& [snapshot, why] : labels.unread)
    none += fmt::format("; the label of version {} is unreadable: {}", snapshot.first.value, why);
  return fail(Code::version_unavailable, std::move(none),
              labels.known.empty() ? "restore a version, or the newest" : "choose one of these, or a version");
}

}  // namespace cairn
