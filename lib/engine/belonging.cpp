#include "engine/belonging.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "format/json_file.hpp"
#include "store/names.hpp"

namespace cairn {

Result<std::optional<ChainMark>> read_chain_mark(const Store& store, const std::vector<Entry>& entries, const Log& log,
                                                 std::vector<Unreadable>& unreadable) {
  const FileName name = names::chain_mark();
  if (std::ranges::find(entries, name.path, &Entry::name) == entries.end()) return std::nullopt;
  const auto text = read_text(store, name, kMostRecordBytes);
  auto mark = text ? parse_chain_mark(*text) : Result<ChainMark>(fail(text.error()));
  if (mark) return *mark;
  const Code code = mark.error().code;
  if (code == Code::not_found) return std::nullopt;
  log.warning("{}: {}: {}", store.where(), name.path, mark.error().text());
  if (code == Code::newer_format) unreadable.push_back({name, {}, {}, {}, mark.error()});
  if (code != Code::newer_format && code != Code::corrupt) return fail(mark.error().in(name.path));
  return std::nullopt;
}

Status write_chain_mark(Store& store, const ChainMark& mark) {
  return write_text(store, names::chain_mark(), to_json(mark));
}

Status check_belongs(const Store& node_store, const std::optional<ChainMark>& mark, RunId id, bool known,
                     const std::string& global) {
  if (!mark || (mark->id == id && (known || mark->global == global))) return {};
  const std::string own =
      mark->global == global ? "an earlier global store at that place" : "the global store " + mark->global;
  return fail(
      Code::mismatch,
      fmt::format("{} has snapshots that belong to {}, and this job's global store is {}", node_store.where(), own,
                  global),
      fmt::format("give one of the jobs another [job] name or [storage] local; if this is to go on from them, copy "
                  "{}/{} into {}",
                  node_store.where(), names::chain_mark().path, global));
}

}  // namespace cairn
