#include "mpi/ulfm.hpp"

#include <dlfcn.h>
#include <mpi-ext.h>

#include <chrono>
#include <memory>
#include <numeric>
#include <thread>

#include "comm/backoff.hpp"
#include "mpi/mpi_request.hpp"
#include "tap/hear.hpp"

namespace cairn::ulfm {
namespace {

// `mpirun --with-ft ulfm` sets this variable of Open MPI, which only its tools interface shows. That interface gets the
// thread level that MPI has: Open MPI 5.0 would give MPI another one, and MPI_Query_thread would report it.
bool turned_on() {
  int level = MPI_THREAD_SINGLE;
  if (mpi_is_running()) MPI_Query_thread(&level);
  int provided = 0;
  if (MPI_T_init_thread(level, &provided) != MPI_SUCCESS) return false;
  int index = 0;
  int on = 0;
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  int count = 0;
  if (MPI_T_cvar_get_index("mpi_ft_enable", &index) == MPI_SUCCESS &&
      MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) == MPI_SUCCESS) {
    if (MPI_T_cvar_read(handle, &on) != MPI_SUCCESS) on = 0;
    MPI_T_cvar_handle_free(&handle);
  }
  MPI_T_finalize();
  return on != 0;
}

// An agreement reports failures by its code; both are valid then, and the same for all.
Result<Agreed> outcome(int code, int word) {
  if (code != MPI_SUCCESS && !is_failure(code)) return fail(mpi_error(code, "MPIX_Comm_agree"));
  return Agreed{word, code == MPI_SUCCESS};
}

// Open MPI makes communicators one after another, the one whose parent has the lowest number first. If a member dies
// meanwhile, Open MPI 5.0 keeps that number, and whatever is made later from a parent with a higher one waits for ever
// (ompi_comm_cid_lowest_id in ompi/communicator/comm_cid.c). MPI_COMM_SELF has the lowest number that there is but for
// MPI_COMM_WORLD's, so making one from it does not wait, and clears what was kept.
void let_communicators_be_made_again() {
  MPI_Comm mine = MPI_COMM_NULL;
  const tap::Unheard own;
  if (MPI_Comm_dup(MPI_COMM_SELF, &mine) == MPI_SUCCESS) MPI_Comm_free(&mine);
}

// Open MPI 5.0 keeps the request of a blocking send, and of a blocking receive, for the next one. If a peer dies amid a
// long message, the request keeps the rest of it, since mca_pml_ob1_send (pml_ob1_isend.c) does not clear
// req_send_ranges. MPI sends this rest as a part of the next long message, whose receiver gets wrong data or blocks
// forever. So these two requests are given up. RepairCalls avoids such sends, but not in MPI's own calls. Local.
void let_requests_be_made_again() {
  for (const char* const name : {"mca_pml_ob1_sendreq", "mca_pml_ob1_recvreq"})
    if (void* const place = ::dlsym(RTLD_DEFAULT, name)) *static_cast<void**>(place) = nullptr;
}

std::size_t count_failed(MPI_Comm comm) {
  MPI_Group failed = MPI_GROUP_NULL;
  if (MPIX_Comm_get_failed(comm, &failed) != MPI_SUCCESS) return 0;
  int size = 0;
  MPI_Group_size(failed, &size);
  MPI_Group_free(&failed);
  return static_cast<std::size_t>(size);
}

// To be made before an agreement, and asked after it.
//
// A process of Open MPI 5.0 that learns of a death by an agreement postpones what this means for other agreements, even
// for one that only a quicker member has begun: a timer event points to that. If it has ended when MPI looks for such
// events, MPI crashes (era_error_event_cb in coll/ftagree). MPI looks for them every 10 ms; until then no other
// agreement may begin, nor a call that makes communicators, as these agree, too.
class PostponedNews {
 public:
  explicit PostponedNews(MPI_Comm comm) : comm_(comm), known_(count_failed(comm)) {}
  void let_come() const {
    if (count_failed(comm_) == known_) return;
    constexpr auto kBetweenLooksOfMpi = std::chrono::milliseconds(11);
    std::this_thread::sleep_for(kBetweenLooksOfMpi);
    // One call in eight looks for events.
    for (int i = 0; i < 8; ++i) let_news_come();
  }

 private:
  MPI_Comm comm_;
  std::size_t known_;
};

}  // namespace

Status usable() {
  if (turned_on()) return {};
  return fail(Code::config, "MPI's fault tolerance is off in this job",
              "start it with ckpt-run, or set [recovery] mode = restart");
}

bool is_failure(int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  return error_class == MPIX_ERR_PROC_FAILED || error_class == MPIX_ERR_PROC_FAILED_PENDING ||
         error_class == MPIX_ERR_REVOKED;
}

void let_news_come() {
  const tap::Unheard own;
  int any = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &any, MPI_STATUS_IGNORE);
}

bool has_failed(MPI_Comm comm) { return count_failed(comm) > 0; }

std::vector<std::uint32_t> failed_members(MPI_Comm comm) {
  MPI_Group failed = MPI_GROUP_NULL;
  MPI_Group all = MPI_GROUP_NULL;
  if (MPIX_Comm_get_failed(comm, &failed) != MPI_SUCCESS || MPI_Comm_group(comm, &all) != MPI_SUCCESS) return {};
  int size = 0;
  MPI_Group_size(failed, &size);
  std::vector<int> in_failed(static_cast<std::size_t>(size));
  std::iota(in_failed.begin(), in_failed.end(), 0);
  std::vector<int> in_all(in_failed.size());
  MPI_Group_translate_ranks(failed, size, in_failed.data(), all, in_all.data());
  MPI_Group_free(&failed);
  MPI_Group_free(&all);
  return {in_all.begin(), in_all.end()};
}

bool is_revoked(MPI_Comm comm) {
  int revoked = 0;
  return MPIX_Comm_is_revoked(comm, &revoked) == MPI_SUCCESS && revoked != 0;
}

void revoke(MPI_Comm comm) { MPIX_Comm_revoke(comm); }

// In Open MPI 5.0, a process may learn of a failure from a revocation, before mpirun reports the death to it. If the
// report comes during an agreement, the process crashes or all members block (era_mark_process_failed in coll/ftagree).
// The report takes some milliseconds.
void wait_for_news(MPI_Comm comm) {
  constexpr int kLooks = 60;
  constexpr std::chrono::microseconds kBetweenLooks{500};
  for (int look = 0; look < kLooks && !has_failed(comm); ++look) {
    let_news_come();
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

Result<MPI_Comm> shrink(MPI_Comm comm) {
  if (is_revoked(comm)) wait_for_news(comm);
  let_communicators_be_made_again();
  let_requests_be_made_again();
  MPI_Comm live = MPI_COMM_NULL;
  const int code = MPIX_Comm_shrink(comm, &live);
  if (live == MPI_COMM_NULL) return fail(mpi_error(code, "MPIX_Comm_shrink"));
  MPI_Comm_set_errhandler(live, MPI_ERRORS_RETURN);
  return live;
}

Result<Agreed> agree(MPI_Comm comm, int word) {
  if (is_revoked(comm)) wait_for_news(comm);
  const PostponedNews news(comm);
  const int code = MPIX_Comm_agree(comm, &word);
  news.let_come();
  return outcome(code, word);
}

Result<Agreed> agree(MPI_Comm comm, int word, const Meanwhile& meanwhile) {
  if (is_revoked(comm)) wait_for_news(comm);
  auto agreed = std::make_unique<int>(word);
  const tap::Unheard own;
  const PostponedNews news(comm);
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPIX_Comm_iagree(comm, agreed.get(), &request);
  int done = code == MPI_SUCCESS ? 0 : 1;
  for (Backoff backoff; done == 0; backoff.sleep_a_little()) {
    const auto known = meanwhile();
    if (!known || *known) {
      (void)agreed.release();  // MPI may still write there
      if (!known) return fail(known.error());
      return Agreed{**known, false};
    }
    code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) break;
  }
  news.let_come();
  return outcome(code, *agreed);
}

}  // namespace cairn::ulfm
