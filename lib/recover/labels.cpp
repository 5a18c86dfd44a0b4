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

Buffer encode(const std::string& label, const std::vector<LabeledSnapshot>& here) {
  ByteWriter out;
  out.put_text(label);
  for (const LabeledSnapshot& one : here) {
    out.put(one.snapshot.incarnation.value);
    out.put(one.snapshot.version.value);
    out.put(one.snapshot.run.value);
    out.put_text(one.label);
  }
  return out.take();
}

// What all heads say.
struct Labels {
  std::set<std::string> asked;
  std::map<Identity, std::string> known;
};

Status decode(Bytes bytes, Labels& into) {
  ByteReader in(bytes);
  if (auto label = in.get_text(); !label.empty()) into.asked.insert(std::move(label));
  while (in.good() && in.remaining() > 0) {
    Identity snapshot;
    snapshot.incarnation.value = in.get<std::uint32_t>();
    snapshot.version.value = in.get<std::uint32_t>();
    snapshot.run.value = in.get<std::uint64_t>();
    into.known.emplace(snapshot, in.get_text());
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

std::vector<LabeledSnapshot> labels_here(const NodeContext& node, const std::vector<NodeManifest>& manifests,
                                         const std::vector<Identity>& global) {
  std::vector<LabeledSnapshot> here;
  const auto take = [&](const Identity& snapshot, const SnapshotNotes& notes) {
    if (!notes.label.empty()) here.push_back({snapshot, notes.label});
  };
  for (const NodeManifest& manifest : manifests) take(manifest.identity, manifest.notes);
  if (!node.leads()) return here;
  for (const Identity& snapshot : global) {
    const auto manifest = read_global_manifest(*node.global, node.dir(snapshot), node.sealer);
    if (manifest) take(snapshot, manifest->notes);
  }
  return here;
}

Result<Version> find_labeled(Comm& heads, const std::string& label, const std::vector<LabeledSnapshot>& here) {
  const auto all = heads.allgather(encode(label, here));
  if (!all) return fail(all.error());
  Labels labels;
  for (const Buffer& bytes : *all) {
    if (auto status = decode(bytes, labels); !status) return fail(status.error());
  }
  if (labels.asked.size() != 1)
    return fail(Code::mismatch, "ranks called restore() for different labels",
                "every application rank must ask for the same version, or the same label");
  const std::string& asked = *labels.asked.begin();
  const auto has_it = [&](const auto& one) { return one.second == asked; };
  const auto newest = std::find_if(labels.known.rbegin(), labels.known.rend(), has_it);
  if (newest != labels.known.rend()) return newest->first.version;
  const std::string none = fmt::format("no snapshot has the label \"{}\"", escaped_for_terminal(asked));
  if (labels.known.empty())
    return fail(Code::version_unavailable, none + ", nor any other", "restore a version, or the newest");
  return fail(Code::version_unavailable, fmt::format("{}; there are: {}", none, list_of(labels.known)),
              "choose one of these, or a version");
}

}  // namespace cairn
