// The observer that records the application's MPI calls in a CallFile in the node's store (format/call_record.hpp).
// Other processes can read it, while a rank hangs and after it was killed.
//
// The destructor removes the file. After a kill, the next run of the job removes it (recover/leftovers).
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

// The head that works for the rank.
struct Server {
  NodeId node = {};                    // of the rank
  std::int32_t head_process = 0;       // 0: not known
  std::optional<Rank> head_rank = {};  // whose process acts as the head
};

// The process that makes the calls.
struct Caller {
  Rank rank;
  std::uint32_t ranks = 0;
  std::int32_t process = 0;
  std::string host = {};
  bool threads = false;  // several threads may make calls at the same time
  Server server = {};
};

class CallRing final : public Observer {
 public:
  // Null: a store of this kind has no such files. invalid_argument: there are more names than a file has places for.
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

  // The name of the call that this thread is in; empty: of none.
  [[nodiscard]] std::string_view present_call() const;
  // Which of the communicators is the session's own.
  void is_session(std::uint64_t comm) { file_.session_comm = comm; }

  // A repair may have replaced the head.
  void is_served_by(const Server& server);

  // The rank is in a call of Cairn; `another`: it has begun a further one.
  void cairn_began(CairnCall call, bool another);
  void cairn_ended();

 private:
  CallRing(std::shared_ptr<Store> store, FileName name, std::unique_ptr<SharedFile> file, bool threads);
  [[nodiscard]] std::optional<std::int64_t> opened_in_store() const;
  void enter(const Caller& caller, std::span<const char* const> names);
  [[nodiscard]] std::unique_lock<std::mutex> lock();
  // The place of a request; nothing if it has none.
  [[nodiscard]] CallRecord* find(std::uint64_t request);
  // A place that the request has from now on; nothing if none is free.
  [[nodiscard]] CallRecord* place_for(std::uint64_t request);
  [[nodiscard]] CommRecord* find_comm(std::uint64_t id);
  // The call of this thread.
  void put_lasting(const CallRecord& call);
  void end_lasting();
  // The counter of messages like this one; null: there is none.
  [[nodiscard]] MessageRecord* find_counter(const CallRecord& message);
  // False: there is no place, or was none once.
  [[nodiscard]] bool add_counter(const CallRecord& message, std::uint64_t count);
  // Stops counting messages like this one, because some of them will not be seen.
  void stop_counting(const CallRecord& message);
  // The number of a message that begins, among those like it; 0: they are not counted.
  [[nodiscard]] std::uint64_t count(const CallRecord& message);

  std::shared_ptr<Store> store_;
  FileName name_;
  std::unique_ptr<SharedFile> shared_;
  CallFile& file_;
  std::array<std::uint64_t, CallFile::kPending> requests_{};  // the request of each place in `pending`, or 0
  std::size_t most_looked_at_ = 0;                            // places in the window of a request, to find one for it
  bool threads_;
  std::mutex mutex_;  // guards requests, communicators and messages, if several threads make calls
};

}  // namespace cairn::tap
