#include "bind/c_session.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "bind/last_error.hpp"
#include "session/exception.hpp"
#include "session/session_impl.hpp"

cairn_session::cairn_session(std::unique_ptr<cairn::Resilient> repairs, std::unique_ptr<cairn::Session> opened,
                             std::unique_ptr<cairn::FailureVote> votes)
    : job(std::move(repairs)), session(std::move(opened)), vote(std::move(votes)) {}

cairn_session::cairn_session(cairn::Session& of_cairn_run) : lent_(&of_cairn_run) {
  if (!is_repairable()) vote = std::make_unique<cairn::FailureVote>(of_cairn_run.comm());
}

cairn::SessionBase& cairn_session::base() const { return *open(); }
bool cairn_session::is_repairable() const { return base().impl().recoverable(); }
void cairn_session::protect(const std::string& name, cairn::detail::RegionAccess access) const {
  if (!access.place) access.kind = base().impl().regions().kind_of(name);
  base().protect_access(name, std::move(access));
}
const std::string& cairn_session::scratch_file(const std::string& name) const {
  static_cast<void>(base().scratch_file(name));
  return *base().impl().regions().scratch_path(name);
}
void cairn_session::set_kind(const std::string& name, cairn::detail::AnyKind kind) const {
  cairn::value_or_throw(base().impl().regions().set_kind(name, std::move(kind)));
}
const cairn::Log& cairn_session::log() const { return base().impl().log(); }

namespace cairn::bind {
namespace {

using KindAndCode = std::pair<ErrorKind, int>;
constexpr KindAndCode kCodes[] = {
    {ErrorKind::usage, CAIRN_ERR_USAGE},
    {ErrorKind::config, CAIRN_ERR_CONFIG},
    {ErrorKind::storage, CAIRN_ERR_STORAGE},
    {ErrorKind::corrupt, CAIRN_ERR_CORRUPT},
    {ErrorKind::unrecoverable, CAIRN_ERR_UNRECOVERABLE},
    {ErrorKind::mismatch, CAIRN_ERR_MISMATCH},
    {ErrorKind::taken_over, CAIRN_ERR_TAKEN_OVER},
    {ErrorKind::communication, CAIRN_ERR_COMMUNICATION},
    {ErrorKind::rollback, CAIRN_ROLLBACK},
};

}  // namespace

int refuse(const cairn_session& session, const Exception& error, int code) {
  if (code == CAIRN_ROLLBACK && session.is_lent()) throw;
  if (code == CAIRN_ROLLBACK && session.job) session.job->note_failed_call();
  if (code >= CAIRN_OK) return fail(code, error.what());
  const auto tell = [&] { session.log().error("{}", error.what()); };
  const std::uint32_t rank = session.open()->rank();
  if (session.vote && session.vote->settle(true, patience_with(error.kind()), tell)) return fail(code, error.what());
  if (session.vote || !is_of_restore(error.kind())) {
    session.log().error("rank {}: {}", rank, error.what());
  } else {
    let_rank_0_tell(rank, error.kind());
    if (rank == 0) tell();
  }
  return fail(code, error.what());
}

int refuse(const Resilient& job, const Exception& error, int code) {
  return job.is_first() && code < CAIRN_OK ? refuse(code, error.what()) : fail(code, error.what());
}

int refuse_null_session() { return refuse(CAIRN_ERR_USAGE, "the session is NULL; call cairn_init first"); }

int code_of(ErrorKind kind) { return std::ranges::find(kCodes, kind, &KindAndCode::first)->second; }

ErrorKind kind_of(int code) {
  const auto* const found = std::ranges::find(kCodes, code, &KindAndCode::second);
  return found == std::end(kCodes) ? ErrorKind::usage : found->first;
}

std::string text_or_empty(const char* text) { return text == nullptr ? std::string() : std::string(text); }

}  // namespace cairn::bind
