#include "reshape/finding.hpp"

#include <limits>

#include "base/fields.hpp"

namespace cairn::reshape {

Result<Findings> agree_on(Comm& comm, const Findings& mine) {
  constexpr std::uint64_t kNobody = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t lowest = mine ? comm.rank().value : kNobody;
  if (auto status = comm.allreduce({&lowest, 1}, Reduce::min); !status) return fail(status.error());
  if (lowest == kNobody) return Findings{};

  Buffer facts;
  if (mine) {
    PutFields put;
    Finding finding = *mine;
    put(finding);
    facts = put.take();
  }
  const auto theirs = comm.broadcast(facts, Peer{static_cast<std::uint32_t>(lowest)});
  if (!theirs) return fail(theirs.error());
  GetFields get(*theirs);
  Finding finding;
  get(finding);
  if (!get.whole()) return fail_internal(Code::failed_elsewhere, "failed, and its finding is damaged");
  return Findings{std::move(finding)};
}

bool is_of_number(const Finding& finding) {
  switch (finding.cause) {
    case Cause::impossible:
    case Cause::types_differ:
    case Cause::shapes_differ:
    case Cause::not_protected:
    case Cause::old_type:
    case Cause::old_shape: return false;
    case Cause::not_stored: return !finding.ranks.empty();
    default: return true;
  }
}

}  // namespace cairn::reshape
