#include "tap/call_ring.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "store/names.hpp"

namespace cairn::tap {
namespace {

// A request or a communicator is at the place that its number gives, or at one of those that follow.
constexpr std::size_t kWindow = 16;
constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;  // Knuth's multiplier for hashing

// The first place in `all`, within the window for `number` or its first `length` places, for which `is_it` is true.
template <class All, class IsIt>
auto* find_in(All& all, std::uint64_t number, IsIt is_it, std::size_t length = kWindow) {
  const std::size_t first = (number * kGolden) >> 32U;
  for (std::size_t i = 0; i < length; ++i) {
    auto& place = all[(first + i) % all.size()];
    if (is_it(place)) return &place;
  }
  return static_cast<typename All::value_type*>(nullptr);
}

// The place of a thread among those that may be in a call. When the thread ends, another one gets the place. If there
// are more threads than places, some have none.
class ThreadPlace {
 public:
  ThreadPlace() {
    std::uint32_t now = taken().load();
    while (now != ~std::uint32_t{0}) {
      const auto place = static_cast<std::uint32_t>(std::countr_one(now));
      if (!taken().compare_exchange_weak(now, now | (1U << place))) continue;
      place_ = place;
      return;
    }
  }
  ~ThreadPlace() {
    if (place_) taken().fetch_and(~(1U << *place_));
  }
  ThreadPlace(const ThreadPlace&) = delete;
  ThreadPlace& operator=(const ThreadPlace&) = delete;

  // Each call looks here twice, and sooner finds a number than an object that has a destructor.
  [[nodiscard]] static std::optional<std::uint32_t> mine() {
    constexpr std::uint32_t kNotAsked = CallFile::kThreads;
    constexpr std::uint32_t kNone = kNotAsked + 1;
    [[gnu::tls_model("initial-exec")]] thread_local constinit std::uint32_t known = kNotAsked;
    if (known == kNotAsked) known = of_this_thread().value_or(kNone);
    return known == kNone ? std::nullopt : std::optional(known);
  }

 private:
  static_assert(CallFile::kThreads == 32);
  static std::optional<std::uint32_t> of_this_thread() {
    thread_local const ThreadPlace place;
    return place.place_;
  }
  static std::atomic<std::uint32_t>& taken() {
    static std::atomic<std::uint32_t> places = 0;
    return places;
  }
  std::optional<std::uint32_t> place_;
};

bool is_message(const CallRecord& call) {
  return (call.kind == CallKind::send || call.kind == CallKind::receive) && call.peer != kNoPeer;
}

std::uint64_t hash_of(const CallRecord& message) {
  const std::uint64_t peer = static_cast<std::uint32_t>(message.peer);
  const std::uint64_t tag = static_cast<std::uint32_t>(message.tag);
  return message.comm ^ (peer << 32U | tag) * kGolden ^ static_cast<std::uint64_t>(message.kind);
}

template <std::size_t Length>
void put_text(std::array<char, Length>& to, std::string_view text) {
  std::ranges::copy(text.substr(0, Length - 1), to.begin());
}

template <class Clock>
std::int64_t nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

}  // namespace

Result<std::unique_ptr<CallRing>> CallRing::open(std::shared_ptr<Store> store, const Caller& caller,
                                                 std::span<const char* const> names) {
  if (names.size() > CallFile::kNames)
    return fail(Code::invalid_argument,
                fmt::format("{} MPI calls, but a file of calls has {} names", names.size(), CallFile::kNames));
  const FileName name = names::calls(caller.rank);
  auto file = store->share(name, sizeof(CallFile));
  if (!file) return fail(file.error());
  if (!*file) return nullptr;
  auto ring = std::unique_ptr<CallRing>(new CallRing(std::move(store), name, std::move(*file), caller.threads));
  ring->enter(caller, names);
  return ring;
}

CallRing::CallRing(std::shared_ptr<Store> store, FileName name, std::unique_ptr<SharedFile> file, bool threads)
    : store_(std::move(store)),
      name_(std::move(name)),
      shared_(std::move(file)),
      file_(*reinterpret_cast<CallFile*>(shared_->bytes().data())),
      threads_(threads) {}

CallRing::~CallRing() {
  const std::int64_t opened = file_.opened;
  const bool ours = opened_in_store() == opened;
  shared_.reset();  // before the store takes its bytes away
  if (ours) (void)store_->remove(name_);
}

// The file that has the name now. A process that has replaced this one may have made another file of that name.
std::optional<std::int64_t> CallRing::opened_in_store() const {
  const auto reader = store_->open(name_);
  std::int64_t opened = 0;
  if (!reader || !(*reader)->read(offsetof(CallFile, opened), std::as_writable_bytes(std::span(&opened, 1))))
    return std::nullopt;
  return opened;
}

// The magic is written last, so that a reader rejects a file that is not complete.
void CallRing::enter(const Caller& caller, std::span<const char* const> names) {
  file_.format = kCallFileFormat;
  file_.rank = caller.rank.value;
  file_.ranks = caller.ranks;
  file_.process = caller.process;
  file_.opened_at = nanoseconds<std::chrono::system_clock>();
  file_.opened = nanoseconds<std::chrono::steady_clock>();
  put_text(file_.host, caller.host);
  is_served_by(caller.server);
  for (std::size_t i = 0; i < names.size(); ++i) put_text(file_.names[i], names[i]);
  std::atomic_thread_fence(std::memory_order_release);
  file_.magic = kCallFileMagic;
}

void CallRing::is_served_by(const Server& server) {
  file_.node = server.node.value;
  file_.head_process = server.head_process;
  file_.head_rank = server.head_rank ? static_cast<std::int32_t>(server.head_rank->value) : kNoPeer;
}

std::unique_lock<std::mutex> CallRing::lock() {
  return threads_ ? std::unique_lock(mutex_) : std::unique_lock(mutex_, std::defer_lock);
}

void CallRing::began(const CallRecord& call) {
  CallRecord lasting = call;
  if (call.kind == CallKind::send || call.kind == CallKind::receive) {
    const auto guard = lock();
    lasting.number = count(call);
  }
  put_lasting(lasting);
  if (call.kind != CallKind::collective) return;
  const auto guard = lock();
  if (CommRecord* const comm = find_comm(call.comm)) comm->collectives = std::max(comm->collectives, call.number);
}

void CallRing::ended(const CallRecord& call) {
  const std::uint64_t number = std::atomic_ref(file_.calls).fetch_add(1, std::memory_order_relaxed);
  file_.past[number % CallFile::kPast] = call;
  end_lasting();
}

void CallRing::put_lasting(const CallRecord& call) {
  if (const auto place = ThreadPlace::mine())
    file_.lasting[*place] = call;
  else
    std::atomic_ref(file_.calls_left_out).fetch_add(1, std::memory_order_relaxed);
}

std::string_view CallRing::present_call() const {
  const auto place = ThreadPlace::mine();
  if (!place || file_.lasting[*place].kind == CallKind::none) return {};
  return file_.names[file_.lasting[*place].call].data();
}

void CallRing::end_lasting() {
  if (const auto place = ThreadPlace::mine())
    file_.lasting[*place].kind = CallKind::none;
  else
    std::atomic_ref(file_.calls_left_out).fetch_sub(1, std::memory_order_relaxed);
}

// A loop of tests or probes would overwrite all other records. So equal tests in a row share one record.
void CallRing::asked_in_vain(const CallRecord& call) {
  const std::uint64_t calls = std::atomic_ref(file_.calls).load(std::memory_order_relaxed);
  CallRecord& newest = file_.past[(calls + CallFile::kPast - 1) % CallFile::kPast];
  const bool again = newest.kind == call.kind && newest.number > 0 && newest.call == call.call &&
                     newest.request == call.request && newest.comm == call.comm && newest.peer == call.peer &&
                     newest.tag == call.tag;
  if (again) {
    newest.ended = call.ended;
    ++newest.number;
    end_lasting();
    return;
  }
  CallRecord first = call;
  first.number = 1;
  ended(first);
}

CallRecord* CallRing::find(std::uint64_t request) {
  const auto is_it = [=](std::uint64_t there) { return there == request; };
  const std::uint64_t* const place = find_in(requests_, request, is_it, most_looked_at_);
  return place == nullptr ? nullptr : &file_.pending[static_cast<std::size_t>(place - requests_.data())];
}

CallRecord* CallRing::place_for(std::uint64_t request) {
  std::size_t looked_at = 0;
  const auto is_free = [&](std::uint64_t there) { return ++looked_at, there == 0; };
  std::uint64_t* const place = find_in(requests_, request, is_free);
  if (place == nullptr) return nullptr;
  most_looked_at_ = std::max(most_looked_at_, looked_at);
  *place = request;
  return &file_.pending[static_cast<std::size_t>(place - requests_.data())];
}

CommRecord* CallRing::find_comm(std::uint64_t id) {
  return find_in(file_.comms, id, [=](const CommRecord& place) { return place.id == id; });
}

MessageRecord* CallRing::find_counter(const CallRecord& message) {
  return find_in(file_.messages, hash_of(message), [&](const MessageRecord& there) {
    return there.comm == message.comm && there.peer == message.peer && there.tag == message.tag &&
           there.kind == message.kind;
  });
}

bool CallRing::add_counter(const CallRecord& message, std::uint64_t count) {
  CommRecord* const comm = find_comm(message.comm);
  if (comm == nullptr || comm->uncounted != 0) return false;
  const auto is_free = [](const MessageRecord& there) { return there.kind == CallKind::none; };
  MessageRecord* const place = find_in(file_.messages, hash_of(message), is_free);
  if (place == nullptr) {
    comm->uncounted = 1;
    return false;
  }
  *place = {message.comm, count, message.peer, message.tag, message.kind, {}};
  return true;
}

std::uint64_t CallRing::count(const CallRecord& message) {
  if (!is_message(message)) return message.number;
  if (MessageRecord* const place = find_counter(message)) return place->count == 0 ? 0 : ++place->count;
  return add_counter(message, 1) ? 1 : 0;
}

void CallRing::stop_counting(const CallRecord& message) {
  if (!is_message(message)) return;
  if (MessageRecord* const place = find_counter(message))
    place->count = 0;
  else
    (void)add_counter(message, 0);
}

void CallRing::posted(const CallRecord& request) {
  const auto guard = lock();
  CallRecord* place = find(request.request);
  if (place == nullptr) place = place_for(request.request);
  if (place == nullptr) {
    ++file_.requests_left_out;
    if (request.active != 0)
      (void)count(request);
    else
      stop_counting(request);  // the number of its starts will not be known
    return;
  }
  *place = request;
  if (request.active != 0) place->number = count(request);
}

void CallRing::started(std::uint64_t request) {
  const auto guard = lock();
  CallRecord* const place = find(request);
  if (place == nullptr) return;
  place->number = count(*place);
  place->active = 1;
}

void CallRing::awaited(std::uint64_t request) {
  const auto by = ThreadPlace::mine();
  const auto guard = lock();
  CallRecord* const place = find(request);
  if (!by) return;
  if (place != nullptr)
    place->waiter = static_cast<std::uint16_t>(*by + 1);
  else
    ++file_.lasting[*by].number;
}

void CallRing::still_pending(std::uint64_t request) {
  const auto guard = lock();
  if (CallRecord* const place = find(request)) place->waiter = 0;
}

void CallRing::completed(std::uint64_t request, bool persists) {
  const auto guard = lock();
  CallRecord* const place = find(request);
  if (place == nullptr) return;
  place->waiter = 0;
  place->active = 0;
  if (persists) return;
  place->kind = CallKind::none;
  requests_[static_cast<std::size_t>(place - file_.pending.data())] = 0;
}

void CallRing::lost_count(const CallRecord& message) {
  const auto guard = lock();
  stop_counting(message);
}

void CallRing::cancelled(std::uint64_t request) {
  const auto guard = lock();
  if (const CallRecord* const place = find(request)) stop_counting(*place);
}

void CallRing::joined(const CommRecord& comm) {
  const auto guard = lock();
  CommRecord* const place = find_in(file_.comms, comm.id, [](const CommRecord& free) { return free.id == 0; });
  if (place == nullptr) {
    ++file_.comms_left_out;
    return;
  }
  *place = comm;
}

void CallRing::left(std::uint64_t comm) {
  const auto guard = lock();
  if (CommRecord* const place = find_comm(comm)) {
    file_.comm_names[static_cast<std::size_t>(place - file_.comms.data())] = {};
    *place = {};
  }
  for (MessageRecord& messages : file_.messages)
    if (messages.comm == comm) messages = {};
}

// One call lasts at a time: those inside another one are part of it.
void CallRing::cairn_began(CairnCall call, bool another) {
  file_.cairn.began = nanoseconds<std::chrono::steady_clock>();
  file_.cairn.call = call;
  if (another) ++begun_of(file_, call);
}

void CallRing::cairn_ended() {
  file_.cairn.call = CairnCall::none;
  file_.cairn.ended = nanoseconds<std::chrono::steady_clock>();
}

void CallRing::named(std::uint64_t comm, std::string_view name) {
  const auto guard = lock();
  const CommRecord* const place = find_comm(comm);
  if (place == nullptr) return;
  auto& to = file_.comm_names[static_cast<std::size_t>(place - file_.comms.data())];
  to = {};
  put_text(to, name);
  // Readers take one line of ASCII.
  for (char& c : to)
    if (c != '\0' && (c < ' ' || c > '~')) c = '?';
}

}  // namespace cairn::tap
