// The observer that writes down what the application says to MPI, where others can read it while a rank hangs, and
// after it was killed: a CallFile in the node's store (format/call_record.hpp).
//
// The file is removed with the ring; after a kill, when the job's next life opens (recover/leftovers).
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "format/call_record.hpp"
#include "store/store.hpp"
#include "tap/observer.hpp"

namespace cairn::tap {

// Whose calls they are.
struct Caller {
  Rank rank;
  std::uint32_t ranks = 0;
  std::int32_t process = 0;
  std::string host = {};
  bool threads = false;  // may call at the same time
  NodeId node = {};
  std::int32_t head_process = 0;       // of the node's head; 0: not known
  std::optional<Rank> head_rank = {};  // whose process acts as the head
};

class CallRing final : public Observer {
 public:
  // Null: the store is of a kind that has no such files. invalid_argument: there are more names than a file has places
  // for.
  static Result<std::unique_ptr<CallRing>> open(std::shared_ptr<Store> store, const Caller& caller,
                                                std::span<const char* const> names);
  ~CallRing() override;
  CallRing(const CallRing&) = delete;
  CallRing& operator=(const CallRing&) = delete;

  void began(const CallRecord& call) override;
  void ended(const CallRecord& call) override;
  void asked_in_vain(const CallRecord& call) override;
  void posted(const CallRecord& request) override;
  void started(std::uint64_t request) override;
  void awaited(std::uint64_t request) override;
  void still_pending(std::uint64_t request) override;
  void completed(std::uint64_t request, bool persists) override;
  void lost_count(const CallRecord& message) override;
  void cancelled(std::uint64_t request) override;
  void joined(const CommRecord& comm) override;
  void left(std::uint64_t comm) override;
  void named(std::uint64_t comm, std::string_view name) override;

  // Which of the communicators is the session's own.
  void is_session(std::uint64_t comm) { file_.session_comm = comm; }

  // The rank is in a call of Cairn; `another`: it has begun a further one.
  void cairn_began(CairnCall call, bool another);
  void cairn_ended();

 private:
  CallRing(std::shared_ptr<Store> store, FileName name, std::unique_ptr<SharedFile> file, bool threads);
  [[nodiscard]] std::optional<std::int64_t> opened_in_store() const;
  void enter(const Caller& caller, std::span<const char* const> names);
  [[nodiscard]] std::unique_lock<std::mutex> lock();
  // Where it is; nothing if it is not there. For request 0, a free place in the window of `number`.
  [[nodiscard]] CallRecord* find(std::uint64_t number, std::uint64_t request);
  [[nodiscard]] CallRecord* find(std::uint64_t request) { return find(request, request); }
  [[nodiscard]] CommRecord* find_comm(std::uint64_t id);
  // The call of this thread.
  void put_lasting(const CallRecord& call);
  void end_lasting();
  // Of messages like this one; null: there is none.
  [[nodiscard]] MessageRecord* find_counter(const CallRecord& message);
  // False: there is no place, or was none once.
  [[nodiscard]] bool add_counter(const CallRecord& message, std::uint64_t count);
  // No more messages like this one, of which some will not be seen.
  void stop_counting(const CallRecord& message);
  // Of a message that begins: the how-many-th of its kind; 0: it is not counted.
  [[nodiscard]] std::uint64_t count(const CallRecord& message);

  std::shared_ptr<Store> store_;
  FileName name_;
  std::unique_ptr<SharedFile> shared_;
  CallFile& file_;
  std::array<std::uint64_t, CallFile::kPending> requests_{};  // whose place it is in `pending`, or 0: quick to search
  bool threads_;
  std::mutex mutex_;  // of requests, communicators and messages, where threads call at the same time
};

}  // namespace cairn::tap
