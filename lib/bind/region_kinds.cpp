// The C API: what regions are to the whole job.
#include <utility>

#include <cairn/cairn.h>
#include <cairn/region_kind.hpp>

#include "bind/c_session.hpp"

namespace {

int set_kind(const cairn_session* session, const char* name, cairn::detail::AnyKind kind) {
  using namespace cairn::bind;
  return with(session, [&](const cairn::Session&) {
    session->set_kind(text_or_empty(name), std::move(kind));
    return CAIRN_OK;
  });
}

}  // namespace

int cairn_kind_same(cairn_session* session, const char* name) { return set_kind(session, name, cairn::same); }

int cairn_kind_sequence(cairn_session* session, const char* name) { return set_kind(session, name, cairn::sequence); }

int cairn_kind_sequence_part(cairn_session* session, const char* name, size_t first, size_t count) {
  return set_kind(session, name, cairn::sequence_part(first, count));
}

int cairn_kind_like(cairn_session* session, const char* name, const char* sequence) {
  return set_kind(session, name, cairn::like(cairn::bind::text_or_empty(sequence)));
}

int cairn_kind_of_rank(cairn_session* session, const char* name, uint32_t rank) {
  return set_kind(session, name, cairn::of_rank(rank));
}
