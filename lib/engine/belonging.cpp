#include "engine/belonging.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "format/json_file.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

Result<ChainMark> read_mark(const Store& store, const Sealer& sealer) {
  const auto text = read_text(store, names::chain_mark(), kMostRecordBytes);
  return text ? parse_chain_mark(*text, sealer) : fail(text.error());
}

}  // namespace

Result<std::optional<ChainMark>> read_chain_mark(const Store& store, const std::vector<Entry>& entries, const Log& log,
                                                 const Sealer& sealer, std::vector<Unreadable>& unreadable) {
  const FileName name = names::chain_mark();
  if (std::ranges::find(entries, name.path, &Entry::name) == entries.end()) return std::nullopt;
  const auto mark = read_mark(store, sealer);
  if (mark) return *mark;
  const Code code = mark.error().code;
  if (code == Code::not_found) return std::nullopt;
  log.warning("{}: {}: {}", store.where(), name.path, mark.error().text());
  if (is_others(code)) unreadable.push_back({name, {}, {}, {}, mark.error()});
  if (!is_others(code) && code != Code::corrupt) return fail(mark.error().in(name.path));
  return std::nullopt;
}

Status write_chain_mark(Store& store, const ChainMark& mark, const Sealer& sealer) {
  return write_text(store, names::chain_mark(), to_json(mark, sealer));
}

Sealer sealer_of(const std::optional<ChainMark>& mark, bool is_others, const Sealer& sealer) {
  if (mark) return sealer.of_chain(mark->id);
  return is_others ? sealer : sealer.of_unknown_chain();
}

Sealer sealer_of(const Store& store, const Sealer& sealer) {
  if (!sealer.has_key()) return sealer;
  const auto mark = read_mark(store, sealer);
  if (mark) return sealer_of(*mark, false, sealer);
  return sealer_of(std::nullopt, is_others(mark.error().code), sealer);
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
