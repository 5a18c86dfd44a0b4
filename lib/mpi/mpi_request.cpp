#include "mpi/mpi_request.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "comm/backoff.hpp"
#include "comm/finished_request.hpp"
#include "tap/hear.hpp"

namespace cairn {

Error mpi_error(int code, const std::string& doing) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  const std::string_view said(text.data(), static_cast<std::size_t>(length));
  return Error{Code::communication, fmt::format("{}: {}", doing, said.empty() ? "unknown MPI error" : said), {}};
}

bool mpi_is_running() {
  int initialized = 0;
  int finalized = 0;
  return MPI_Initialized(&initialized) == MPI_SUCCESS && MPI_Finalized(&finalized) == MPI_SUCCESS && initialized != 0 &&
         finalized == 0;
}

MpiRequest::~MpiRequest() { settle(); }

Error MpiRequest::error_of(int code, const MPI_Status& status) const {
  if (operation_.kind == Kind::collective) return mpi_error(code, operation_.what);
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  if (error_class == MPI_ERR_TRUNCATE) {
    MPI_Count size_bytes = 0;
    MPI_Get_elements_x(&status, MPI_BYTE, &size_bytes);
    if (std::cmp_greater(size_bytes, operation_.buffer_bytes)) {
      return message_too_long(operation_.peer, operation_.tag, static_cast<std::size_t>(size_bytes),
                              operation_.buffer_bytes)
          .value();
    }
    return fail_internal(Code::communication,
                         fmt::format("a message from member {} with tag {} is longer than its buffer of {} bytes",
                                     operation_.peer.value, operation_.tag.value, operation_.buffer_bytes))
        .value();
  }
  const char* direction = operation_.kind == Kind::send ? "to" : "from";
  return mpi_error(code, fmt::format("{} {} member {} with tag {}", operation_.what, direction, operation_.peer.value,
                                     operation_.tag.value));
}

Result<bool> MpiRequest::test() {
  if (!outcome_) return fail(outcome_.error());
  if (request_ == MPI_REQUEST_NULL) return true;
  const tap::Unheard own;
  int done = 0;
  MPI_Status status{};
  const int code = MPI_Test(&request_, &done, &status);
  if (code != MPI_SUCCESS) {
    outcome_ = fail(error_of(code, status));
    return fail(outcome_.error());
  }
  return done != 0;
}

bool MpiRequest::linger() {
  constexpr std::chrono::seconds kLimit{5};
  Backoff backoff;
  Backoff::Duration slept{0};
  const tap::Unheard own;
  for (;;) {
    int done = 0;
    const int code = MPI_Test(&request_, &done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS || done != 0 || request_ == MPI_REQUEST_NULL) return true;
    if (slept >= kLimit) return false;
    const Backoff::Duration next = backoff.next();
    std::this_thread::sleep_for(next);
    slept += next;
  }
}

bool MpiRequest::settle() {
  if (request_ == MPI_REQUEST_NULL || !mpi_is_running()) return true;
  const tap::Unheard own;
  if (operation_.kind == Kind::receive) MPI_Cancel(&request_);
  const bool over = linger();
  // MPI forbids freeing a collective's request: one that never ends is left to MPI.
  if (request_ != MPI_REQUEST_NULL && operation_.kind != Kind::collective) MPI_Request_free(&request_);
  request_ = MPI_REQUEST_NULL;
  return over;
}

MpiReduction::MpiReduction(MPI_Comm comm, std::span<std::uint64_t> values, MPI_Op how,
                           std::shared_ptr<std::atomic<bool>> unfinished)
    : values_(values),
      copy_(std::make_unique<std::vector<std::uint64_t>>(values.begin(), values.end())),
      unfinished_(std::move(unfinished)) {
  const tap::Unheard own;
  MPI_Request request = MPI_REQUEST_NULL;
  const int code =
      MPI_Iallreduce(MPI_IN_PLACE, copy_->data(), static_cast<int>(copy_->size()), MPI_UINT64_T, how, comm, &request);
  const MpiRequest::Operation operation{.kind = MpiRequest::Kind::collective, .what = "allreduce"};
  if (code == MPI_SUCCESS) {
    request_ = std::make_unique<MpiRequest>(request, operation);
  } else {
    not_started_ = fail(mpi_error(code, operation.what));
  }
}

MpiReduction::~MpiReduction() {
  if (!request_ || request_->settle()) return;
  static_cast<void>(copy_.release());
  *unfinished_ = true;
}

Result<bool> MpiReduction::test() {
  if (!not_started_) return fail(not_started_.error());
  auto done = request_->test();
  if (!done || !*done) return done;
  std::ranges::copy(std::span(*copy_).first(values_.size()), values_.begin());
  // Only once: the values are the caller's again after the first time.
  values_ = {};
  return true;
}

}  // namespace cairn
