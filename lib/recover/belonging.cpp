#include "recover/belonging.hpp"

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

Result<ChainMark> read_chain_mark(const Store& store, const std::vector<Entry>& entries, const Log& log,
                                  const Sealer& sealer) {
  const FileName name = names::chain_mark();
  if (!has_entry(entries, name)) return fail(Code::not_found, name.path + ": does not exist");
  auto mark = read_mark(store, sealer);
  if (mark) return mark;
  log.warning("{}: {}: {}", store.where(), name.path, mark.error().text());
  // It is listed, so it is not absent.
  if (mark.error().code == Code::not_found) mark.error().code = Code::io;
  return mark;
}

Status write_chain_mark(Store& store, const ChainMark& mark, const Sealer& sealer) {
  return write_text(store, names::chain_mark(), to_json(mark, sealer));
}

Sealer sealer_of(const Result<ChainMark>& mark, const Sealer& sealer) {
  if (mark) return sealer.of_chain(mark->id);
  const Code why = mark.error().code;
  // Beside a foreign mark, the code of each file shows that it is foreign too.
  if (why == Code::untrusted) return sealer;
  return sealer.of_unknown_chain(why == Code::not_found ? Code::corrupt : why);
}

Sealer sealer_of(const Store& store, const Sealer& sealer) {
  return sealer.has_key() ? sealer_of(read_mark(store, sealer), sealer) : sealer;
}

Status check_belongs(const Store& node_store, const std::optional<ChainMark>& mark, RunId id, bool known,
                     const std::string& global) {
  if (!mark || (mark->id == id && (known || mark->global == global))) return {};
  const std::string own =
      mark->global == global ? "an earlier global store in the same directory" : "the global store " + mark->global;
  return fail(
      Code::mismatch,
      fmt::format("{} has snapshots that belong to {}, but this job's global store is {}", node_store.where(), own,
                  global),
      fmt::format("give one of the jobs another [job] name or [storage] local; to continue from those snapshots, copy "
                  "{}/{} into {}",
                  node_store.where(), names::chain_mark().path, global));
}

}  // namespace cairn
