// What observers hear of the application's calls: with whom, how much, and what is still pending.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "store/names.hpp"
#include "store/posix/posix_store.hpp"
#include "support/facts.hpp"
#include "support/temp_directory.hpp"
#include "tap/call_ring.hpp"
#include "tap/family.hpp"
#include "tap/hear.hpp"

namespace cairn::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

std::string text_of(const CallRecord& call) {
  const char* const kinds[] = {"none",     "send", "receive", "probe",    "collective", "wait_all",
                               "wait_any", "test", "other",   "test_all", "opaque"};
  return fmt::format("{} {} {}/{}:{}", tap::call_names()[call.call], kinds[static_cast<int>(call.kind)], call.peer,
                     call.tag, call.bytes);
}

// Writes down what it hears, a line each.
class Notes final : public tap::Observer {
 public:
  void began(const CallRecord& call) override {
    last = call;
    lines.push_back("begins " + text_of(call));
  }
  void ended(const CallRecord& /*call*/) override { lines.emplace_back("ends"); }
  void asked_in_vain(const CallRecord& /*call*/) override { lines.emplace_back("ends in vain"); }
  void posted(const CallRecord& request) override {
    lines.push_back(fmt::format("posts {}{}", text_of(request), request.active != 0 ? "" : ", not active"));
  }
  void started(std::uint64_t /*request*/) override { lines.emplace_back("starts"); }
  void awaited(std::uint64_t /*request*/) override { lines.emplace_back("awaits"); }
  void still_pending(std::uint64_t /*request*/) override { lines.emplace_back("pending"); }
  void completed(std::uint64_t /*request*/, bool persists) override {
    lines.emplace_back(persists ? "completes, persists" : "completes");
  }
  void lost_count(const CallRecord& message) override { lines.push_back("loses count of " + text_of(message)); }
  void cancelled(std::uint64_t /*request*/) override { lines.emplace_back("cancels"); }
  void joined(const CommRecord& comm) override { comms.push_back(comm); }
  void left(std::uint64_t comm) override { gone.push_back(comm); }
  void named(std::uint64_t comm, std::string_view name) override {
    lines.push_back(fmt::format("names {} {}", comm == comms.front().id ? "the first" : "another", name));
  }

  std::vector<std::string> take() { return std::exchange(lines, {}); }

  std::vector<std::string> lines;
  std::vector<CommRecord> comms;
  std::vector<std::uint64_t> gone;
  CallRecord last;
};

class HeardCalls : public testing::Test {
 protected:
  void SetUp() override {
    // The session's ranks are those of the world in reverse.
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_in(MPI_COMM_WORLD), &root_);
    listening_ = std::make_unique<tap::Listening>(notes_);
    family_ = std::make_unique<tap::Family>(root_, [](MPI_Comm) {});
    me_ = rank_in(root_);
    next_ = (me_ + 1) % 4;
    before_ = (me_ + 3) % 4;
  }
  void TearDown() override {
    family_.reset();
    listening_.reset();
    MPI_Comm_free(&root_);
  }
  std::vector<std::string> heard() { return notes_.take(); }

  MPI_Comm root_ = MPI_COMM_NULL;
  Notes notes_;
  std::unique_ptr<tap::Listening> listening_;
  std::unique_ptr<tap::Family> family_;
  int me_ = 0;
  int next_ = 0;
  int before_ = 0;
  double out_ = 1;
  double in_ = 0;
};

TEST_F(HeardCalls, name_who_sends_to_whom) {
  if (me_ == 0) {
    MPI_Send(&out_, 1, MPI_DOUBLE, 1, 7, root_);
    EXPECT_THAT(heard(), ElementsAre("begins MPI_Send send 1/7:8", "ends"));
  } else if (me_ == 1) {
    MPI_Recv(&in_, 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, root_, MPI_STATUS_IGNORE);
    EXPECT_THAT(heard(), ElementsAre("begins MPI_Recv receive -1/-1:8", "ends"));
  }
  MPI_Sendrecv(&out_, 1, MPI_DOUBLE, next_, 3, &in_, 1, MPI_DOUBLE, before_, 3, root_, MPI_STATUS_IGNORE);
  EXPECT_EQ(notes_.lines.at(0), fmt::format("begins MPI_Sendrecv wait_all {}/3:8", next_));
  EXPECT_THAT(heard(), ElementsAre(testing::_, fmt::format("posts MPI_Sendrecv send {}/3:8", next_), "awaits",
                                   fmt::format("posts MPI_Sendrecv receive {}/3:0", before_), "awaits", "completes",
                                   "completes", "ends"));
  MPI_Send(&out_, 1, MPI_DOUBLE, MPI_PROC_NULL, 7, root_);
  EXPECT_THAT(heard(), ElementsAre("begins MPI_Send send -2/7:8", "ends"));
}

// A function of a library that MPI calls when the communicator is duplicated.
class AtDup {
 public:
  AtDup(MPI_Comm comm, MPI_Copy_function* function, void* value) : comm_(comm) {
    MPI_Comm_create_keyval(function, MPI_COMM_NULL_DELETE_FN, &key_, nullptr);
    MPI_Comm_set_attr(comm_, key_, value);
  }
  ~AtDup() {
    MPI_Comm_delete_attr(comm_, key_);
    MPI_Comm_free_keyval(&key_);
  }
  AtDup(const AtDup&) = delete;
  AtDup& operator=(const AtDup&) = delete;

 private:
  MPI_Comm comm_;
  int key_ = MPI_KEYVAL_INVALID;
};

// As a library does that ends its session in a callback of MPI_Finalize.
TEST_F(HeardCalls, may_end_an_observer) {
  struct Other {
    Notes notes;
    tap::Listening listening{notes};
  };
  auto other = std::make_unique<Other>();
  const auto end = [](MPI_Comm, int, void*, void* value, void*, int* copied) {
    static_cast<std::unique_ptr<Other>*>(value)->reset();
    *copied = 0;
    return MPI_SUCCESS;
  };
  std::optional<AtDup> at_dup(std::in_place, root_, end, &other);
  heard();
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(root_, &copy);
  EXPECT_EQ(other, nullptr);
  EXPECT_THAT(heard(), ElementsAre(testing::HasSubstr("begins MPI_Comm_dup"), "ends"));
  MPI_Comm_free(&copy);
  at_dup.reset();
  other = std::make_unique<Other>();
  MPI_Barrier(root_);
  EXPECT_THAT(other->notes.take(), ElementsAre(testing::HasSubstr("begins MPI_Barrier"), "ends"));
}

// As a library does that opens sessions in such a callback, and ends the first of them there, too.
TEST_F(HeardCalls, may_begin_many_observers) {
  struct Others {
    std::vector<Notes> notes{100};
    std::vector<std::unique_ptr<tap::Listening>> listening;
  } others;
  const auto begin = [](MPI_Comm, int, void*, void* value, void*, int* copied) {
    auto& [notes, listening] = *static_cast<Others*>(value);
    for (Notes& one : notes) listening.push_back(std::make_unique<tap::Listening>(one));
    listening.front().reset();
    *copied = 0;
    return MPI_SUCCESS;
  };
  const AtDup at_dup(root_, begin, &others);
  heard();
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(root_, &copy);
  EXPECT_THAT(heard(), ElementsAre(testing::HasSubstr("begins MPI_Comm_dup"), "ends"));
  EXPECT_THAT(others.notes.back().take(), IsEmpty());
  MPI_Comm_free(&copy);
  others.notes.back().take();
  MPI_Barrier(root_);
  EXPECT_THAT(others.notes.front().take(), IsEmpty());
  EXPECT_THAT(others.notes.back().take(), ElementsAre(testing::HasSubstr("begins MPI_Barrier"), "ends"));
}

TEST_F(HeardCalls, speak_of_ranks_as_the_session_does) {
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(root_, me_ / 2, -me_, &half);  // of two: the session's 1 and 0, and 3 and 2
  heard();
  const int partner = me_ ^ 1;
  MPI_Sendrecv(&out_, 1, MPI_DOUBLE, 1 - rank_in(half), 0, &in_, 1, MPI_DOUBLE, 1 - rank_in(half), 0, half,
               MPI_STATUS_IGNORE);
  EXPECT_EQ(notes_.lines.at(0), fmt::format("begins MPI_Sendrecv wait_all {}/0:8", partner));
  MPI_Comm_free(&half);
  EXPECT_THAT(notes_.gone, ElementsAre(notes_.comms.at(1).id));
}

TEST_F(HeardCalls, tell_of_requests_from_their_begin_to_their_end) {
  std::array<MPI_Request, 2> requests{};
  MPI_Irecv(&in_, 1, MPI_DOUBLE, before_, 5, root_, &requests[0]);
  MPI_Isend(&out_, 1, MPI_DOUBLE, next_, 5, root_, &requests[1]);
  EXPECT_THAT(heard(), ElementsAre(fmt::format("begins MPI_Irecv other {}/5:8", before_),
                                   fmt::format("posts MPI_Irecv receive {}/5:8", before_), "ends",
                                   fmt::format("begins MPI_Isend other {}/5:8", next_),
                                   fmt::format("posts MPI_Isend send {}/5:8", next_), "ends"));
  MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
  EXPECT_THAT(heard(),
              ElementsAre("begins MPI_Waitall wait_all -2/-1:0", "awaits", "awaits", "completes", "completes", "ends"));
}

TEST_F(HeardCalls, tell_which_of_some_requests_are_complete) {
  std::array<MPI_Request, 2> requests{};
  MPI_Irecv(&in_, 1, MPI_DOUBLE, MPI_PROC_NULL, 5, root_, &requests[0]);
  MPI_Irecv(&in_, 1, MPI_DOUBLE, before_, 6, root_, &requests[1]);
  heard();
  int index = -1;
  MPI_Waitany(2, requests.data(), &index, MPI_STATUS_IGNORE);
  EXPECT_EQ(index, 0);
  EXPECT_THAT(heard(),
              ElementsAre("begins MPI_Waitany wait_any -2/-1:0", "awaits", "awaits", "completes", "pending", "ends"));
  int flag = 1;
  MPI_Test(&requests[1], &flag, MPI_STATUS_IGNORE);
  EXPECT_EQ(flag, 0);
  EXPECT_THAT(heard(), ElementsAre("begins MPI_Test test -2/-1:0", "pending", "ends in vain"));
  MPI_Iprobe(before_, 99, root_, &flag, MPI_STATUS_IGNORE);
  EXPECT_THAT(heard(), ElementsAre(fmt::format("begins MPI_Iprobe test {}/99:0", before_), "ends in vain"));
  MPI_Barrier(root_);  // nobody has sent before this
  MPI_Send(&out_, 1, MPI_DOUBLE, next_, 6, root_);
  heard();
  int done = 0;
  std::array<int, 2> indices{};
  MPI_Waitsome(2, requests.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
  EXPECT_THAT(heard(), ElementsAre("begins MPI_Waitsome wait_any -2/-1:0", "awaits", "completes", "ends"));
}

TEST_F(HeardCalls, tell_of_requests_that_are_started_again) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Recv_init(&in_, 1, MPI_DOUBLE, before_, 5, root_, &request);
  EXPECT_THAT(heard(),
              ElementsAre(testing::_, fmt::format("posts MPI_Recv_init receive {}/5:8, not active", before_), "ends"));
  for (int i = 0; i < 2; ++i) {
    MPI_Start(&request);
    MPI_Send(&out_, 1, MPI_DOUBLE, next_, 5, root_);
    heard();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_THAT(heard(), ElementsAre("begins MPI_Wait wait_all -2/-1:0", "awaits", "completes, persists", "ends"));
  }
  MPI_Request_free(&request);
  EXPECT_THAT(heard(), ElementsAre("begins MPI_Request_free other -2/-1:0", "completes", "ends"));
}

TEST_F(HeardCalls, tell_how_a_test_asks_and_how_a_communicator_is_called) {
  MPI_Comm other = MPI_COMM_NULL;
  MPI_Comm_dup(root_, &other);
  std::array<MPI_Request, 2> requests{};
  std::array<int, 2> in{};
  for (std::size_t i = 0; i < 2; ++i) MPI_Irecv(&in[i], 1, MPI_INT, before_, static_cast<int>(i), other, &requests[i]);
  heard();
  int flag = 1;
  MPI_Testall(2, requests.data(), &flag, MPI_STATUSES_IGNORE);
  EXPECT_THAT(heard(), ElementsAre("begins MPI_Testall test_all -2/-1:0", "pending", "pending", "ends in vain"));
  MPI_Comm_set_name(other, "halo");
  EXPECT_THAT(heard(), ElementsAre("names another halo"));
  MPI_Barrier(other);
  for (int tag = 0; tag < 2; ++tag) MPI_Send(&tag, 1, MPI_INT, next_, tag, other);
  MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
  MPI_Comm_free(&other);
  heard();
}

TEST_F(HeardCalls, count_collectives_of_each_communicator) {
  MPI_Comm other = MPI_COMM_NULL;
  MPI_Comm_dup(root_, &other);
  EXPECT_EQ(notes_.last.number, 1U);
  MPI_Barrier(root_);
  EXPECT_EQ(notes_.last.number, 2U);
  MPI_Bcast(&in_, 1, MPI_DOUBLE, 2, other);
  EXPECT_EQ(text_of(notes_.last), "MPI_Bcast collective 2/-1:8");
  EXPECT_EQ(notes_.last.number, 1U);
  MPI_Request request = MPI_REQUEST_NULL;
  heard();
  MPI_Ibarrier(other, &request);
  EXPECT_THAT(heard(),
              ElementsAre("begins MPI_Ibarrier collective -2/-1:0", "posts MPI_Ibarrier collective -2/-1:0", "ends"));
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&other);
}

// The standard says that the type means nothing there, so nobody may look at it.
TEST_F(HeardCalls, do_not_look_at_what_is_given_in_place) {
  std::array<double, 4> all{};
  MPI_Allgather(MPI_IN_PLACE, 77, MPI_DATATYPE_NULL, all.data(), 1, MPI_DOUBLE, root_);
  EXPECT_EQ(text_of(notes_.last), "MPI_Allgather collective -2/-1:0");
  MPI_Reduce(&out_, &in_, 1, MPI_DOUBLE, MPI_SUM, 3, root_);
  EXPECT_EQ(text_of(notes_.last), "MPI_Reduce collective 3/-1:8");
}

TEST_F(HeardCalls, give_all_ranks_of_a_communicator_one_number_for_it) {
  MPI_Comm twin = MPI_COMM_NULL;
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm bridge = MPI_COMM_NULL;
  MPI_Comm_dup(root_, &twin);
  MPI_Comm_split(root_, me_ % 2, 0, &half);
  MPI_Intercomm_create(half, 0, root_, 1 - me_ % 2, 5, &bridge);
  ASSERT_EQ(notes_.comms.size(), 4U);
  for (const std::size_t i : {0U, 1U, 2U, 3U}) {
    std::array<std::uint64_t, 4> all{};
    MPI_Allgather(&notes_.comms[i].id, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
    EXPECT_EQ(all[0], all[2]);
    EXPECT_EQ(all[1], all[3]);
    EXPECT_EQ(all[0] == all[1], i != 2) << "only the halves differ";
    for (std::size_t other = 0; other < i; ++other) EXPECT_NE(notes_.comms[i].id, notes_.comms[other].id);
  }
  // A rank there is one of the other half.
  const int opposite = me_ ^ 1;
  heard();
  MPI_Sendrecv(&out_, 1, MPI_DOUBLE, me_ / 2, 0, &in_, 1, MPI_DOUBLE, me_ / 2, 0, bridge, MPI_STATUS_IGNORE);
  EXPECT_EQ(notes_.lines.at(0), fmt::format("begins MPI_Sendrecv wait_all {}/0:8", opposite));
  for (MPI_Comm* const comm : {&bridge, &half, &twin}) MPI_Comm_free(comm);
}

// The same ranks may make several with the same tag, of the same communicator or of others.
TEST_F(HeardCalls, tell_communicators_of_some_ranks_apart) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm twin = MPI_COMM_NULL;
  std::array<MPI_Comm, 3> made{};
  MPI_Comm_dup(root_, &twin);
  MPI_Comm_group(root_, &group);
  MPI_Comm_create_group(root_, group, 0, &made[0]);
  MPI_Comm_create_group(root_, group, 0, &made[1]);
  MPI_Comm_create_group(twin, group, 0, &made[2]);
  MPI_Group_free(&group);
  ASSERT_EQ(notes_.comms.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    std::array<std::uint64_t, 4> all{};
    MPI_Allgather(&notes_.comms[i].id, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
    EXPECT_EQ(std::ranges::count(all, all[0]), 4) << "all ranks have one number for communicator " << i;
    for (std::size_t other = 0; other < i; ++other) EXPECT_NE(notes_.comms[i].id, notes_.comms[other].id);
  }
  for (MPI_Comm& comm : made) MPI_Comm_free(&comm);
  MPI_Comm_free(&twin);
}

TEST_F(HeardCalls, count_a_message_that_is_matched_first_as_a_receive) {
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Send(&out_, 1, MPI_DOUBLE, next_, 4, root_);
  heard();
  MPI_Mprobe(before_, 4, root_, &message, MPI_STATUS_IGNORE);
  EXPECT_THAT(heard(), ElementsAre(fmt::format("begins MPI_Mprobe probe {}/4:0", before_),
                                   fmt::format("posts MPI_Mprobe receive {}/4:0", before_), "completes", "ends"));
  MPI_Mrecv(&in_, 1, MPI_DOUBLE, &message, MPI_STATUS_IGNORE);
  EXPECT_THAT(heard(), ElementsAre("begins MPI_Mrecv opaque -2/-1:0", "ends"));
  int flag = 1;
  MPI_Improbe(before_, 99, root_, &flag, &message, MPI_STATUS_IGNORE);
  EXPECT_THAT(heard(), ElementsAre(fmt::format("begins MPI_Improbe test {}/99:0", before_), "ends in vain"));
  MPI_Barrier(root_);  // nobody's next message comes before this
}

TEST_F(HeardCalls, tell_of_a_request_that_is_looked_at_and_cancelled) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&in_, 1, MPI_DOUBLE, before_, 77, root_, &request);
  heard();
  int flag = 1;
  MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
  EXPECT_THAT(heard(), ElementsAre("begins MPI_Request_get_status test -2/-1:0", "ends in vain"));
  MPI_Cancel(&request);
  EXPECT_THAT(heard(), ElementsAre("begins MPI_Cancel other -2/-1:0", "cancels", "ends"));
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

TEST_F(HeardCalls, show_that_a_rank_is_in_a_call_that_is_not_analysed) {
  MPI_Win window = MPI_WIN_NULL;
  double* shared = nullptr;
  MPI_Win_allocate_shared(sizeof(double), 1, MPI_INFO_NULL, root_, &shared, &window);
  heard();
  MPI_Win_fence(0, window);
  EXPECT_THAT(heard(), ElementsAre("begins MPI_Win_fence opaque -2/-1:0", "ends"));
  MPI_Win_free(&window);
  heard();
  int rank = 0;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_rank(root_, &rank);
  MPI_Comm_group(root_, &group);
  MPI_Group_free(&group);
  EXPECT_THAT(heard(), IsEmpty()) << "of calls that wait for nobody";
}

TEST_F(HeardCalls, are_only_those_of_the_family) {
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(&out_, 1, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_SELF);
  EXPECT_THAT(heard(), IsEmpty());
}

// What the ring has written, as another process reads it.
class Ring : public testing::Test {
 protected:
  void SetUp() override {
    store_ = PosixStore::open(place_.path(), "job").value();
    auto ring = tap::CallRing::open(store_, {.rank = Rank{3}, .ranks = 4, .process = 77, .host = "here"}, names_);
    ASSERT_TRUE(ring) << ring.error().text();
    ring_ = std::move(*ring);
  }
  [[nodiscard]] std::unique_ptr<CallFile> read() const {
    auto file = std::make_unique<CallFile>();
    const auto reader = store_->open(names::calls(Rank{3}));
    EXPECT_TRUE(reader);
    EXPECT_TRUE((*reader)->read(0, {reinterpret_cast<std::byte*>(file.get()), sizeof(CallFile)}));
    return file;
  }
  void call(const CallRecord& call) {
    ring_->began(call);
    ring_->ended(call);
  }
  static CallRecord record(CallKind kind, std::uint64_t number = 0, std::uint64_t request = 0) {
    CallRecord record;
    record.kind = kind;
    record.began = 5;
    record.comm = 11;
    record.number = number;
    record.request = request;
    return record;
  }
  static CallRecord message(CallKind kind, std::int32_t peer, std::int32_t tag, std::uint64_t request = 0) {
    CallRecord one = record(kind, 0, request);
    one.peer = peer;
    one.tag = tag;
    one.active = 1;
    return one;
  }
  // By tag, of those to rank 1.
  [[nodiscard]] std::map<std::int32_t, std::uint64_t> sends_counted() const {
    std::map<std::int32_t, std::uint64_t> counts;
    const auto file = read();
    for (const MessageRecord& messages : file->messages)
      if (messages.kind == CallKind::send && messages.peer == 1) counts[messages.tag] = messages.count;
    return counts;
  }
  [[nodiscard]] static std::size_t in_use(const auto& records) {
    return static_cast<std::size_t>(
        std::ranges::count_if(records, [](const CallRecord& record) { return record.kind != CallKind::none; }));
  }

  TempDirectory place_{"/dev/shm"};
  std::shared_ptr<Store> store_;
  std::array<const char*, 2> names_{"MPI_Send", "MPI_Recv"};
  std::unique_ptr<tap::CallRing> ring_;
};

TEST_F(Ring, says_whose_it_is) {
  const auto file = read();
  EXPECT_EQ(file->magic, kCallFileMagic);
  EXPECT_EQ(file->format, kCallFileFormat);
  EXPECT_EQ(file->rank, 3U);
  EXPECT_EQ(file->ranks, 4U);
  EXPECT_EQ(file->process, 77);
  EXPECT_STREQ(file->host.data(), "here");
  EXPECT_STREQ(file->names[1].data(), "MPI_Recv");
}

TEST_F(Ring, counts_the_messages_of_each_kind_while_their_communicator_is_there) {
  ring_->joined({11, 0, 4, 0});
  for (int i = 0; i < 5000; ++i) call(message(CallKind::send, 1, 7));
  call(message(CallKind::send, kNoPeer, 7));  // to MPI_PROC_NULL
  ring_->posted(message(CallKind::send, 1, 7, 21));
  ring_->began(message(CallKind::receive, 1, 7));
  CallRecord persistent = message(CallKind::receive, 1, 7, 22);
  persistent.active = 0;
  ring_->posted(persistent);
  ring_->started(22);
  const auto file = read();
  std::vector<std::pair<CallKind, std::uint64_t>> counts;
  for (const MessageRecord& messages : file->messages)
    if (messages.kind != CallKind::none) counts.emplace_back(messages.kind, messages.count);
  EXPECT_THAT(counts, testing::UnorderedElementsAre(std::pair(CallKind::send, 5001), std::pair(CallKind::receive, 2)));
  EXPECT_TRUE(
      std::ranges::any_of(file->pending, [](const CallRecord& r) { return r.request == 21 && r.number == 5001; }));
  EXPECT_TRUE(std::ranges::any_of(file->pending, [](const CallRecord& r) { return r.request == 22 && r.number == 2; }));
  EXPECT_TRUE(std::ranges::any_of(file->lasting, [](const CallRecord& r) { return r.number == 1; }));
  ring_->left(11);
  EXPECT_TRUE(std::ranges::all_of(read()->messages, [](const auto& m) { return m.kind == CallKind::none; }));
}

// A counter that came later would count too few, and two ranks would disagree.
TEST_F(Ring, counts_no_further_kind_of_message_on_a_communicator_once_one_had_no_place) {
  ring_->joined({11, 0, 4, 0});
  ring_->joined({12, 0, 4, 0});
  CallRecord other = message(CallKind::send, 1, -1);
  other.comm = 12;
  for (other.tag = 0; other.tag < 500; ++other.tag) call(other);
  for (std::int32_t tag = 1000; tag < 3000; ++tag) call(message(CallKind::send, 1, tag));
  const auto of = [](const CallFile& file, std::uint64_t id) {
    return *std::ranges::find(file.comms, id, &CommRecord::id);
  };
  EXPECT_EQ(of(*read(), 11).uncounted, 1U);
  EXPECT_EQ(of(*read(), 12).uncounted, 0U);
  ring_->began(message(CallKind::send, 1, 2999));
  EXPECT_TRUE(std::ranges::any_of(read()->lasting, [](const CallRecord& r) { return r.tag == 2999 && r.number == 0; }));

  ring_->left(12);  // places are free again
  const auto before = sends_counted();
  EXPECT_GT(before.size(), CallFile::kMessages / 4);
  EXPECT_LT(before.size(), 2000U);
  for (std::int32_t tag = 1000; tag < 3000; ++tag) call(message(CallKind::send, 1, tag));
  const auto after = sends_counted();
  EXPECT_EQ(after.size(), before.size());
  EXPECT_TRUE(std::ranges::all_of(after, [](const auto& kind) { return kind.second == 2; }));
  ring_->left(11);
  ring_->joined({11, 0, 4, 0});
  call(message(CallKind::send, 1, 2999));
  EXPECT_EQ(sends_counted(), (std::map<std::int32_t, std::uint64_t>{{2999, 1}}));
}

TEST_F(Ring, counts_no_message_on_a_communicator_that_has_no_place) {
  call(message(CallKind::send, 1, 7));
  EXPECT_TRUE(sends_counted().empty());
}

TEST_F(Ring, counts_the_message_of_a_request_that_has_no_place) {
  ring_->joined({11, 0, 4, 0});
  for (std::uint64_t i = 1; i <= 3000; ++i) ring_->posted(message(CallKind::send, 1, 7, i * 64));
  EXPECT_GT(read()->requests_left_out, 0U);
  EXPECT_EQ(sends_counted(), (std::map<std::int32_t, std::uint64_t>{{7, 3000}}));
}

TEST_F(Ring, counts_no_message_of_the_kind_of_a_persistent_request_that_has_no_place) {
  ring_->joined({11, 0, 4, 0});
  for (std::uint64_t i = 1; i <= 3000; ++i) ring_->posted(message(CallKind::receive, 1, 7, i * 64));
  call(message(CallKind::send, 1, 7));
  for (const std::int32_t tag : {7, 8}) {
    for (std::uint64_t i = 1; i <= 100; ++i) {
      CallRecord persistent = message(CallKind::send, 1, tag, i * 64 + 1);
      persistent.active = 0;
      ring_->posted(persistent);
    }
    call(message(CallKind::send, 1, tag));
  }
  EXPECT_EQ(sends_counted(), (std::map<std::int32_t, std::uint64_t>{{7, 0}, {8, 0}}));
}

TEST_F(Ring, counts_no_further_messages_of_a_kind_of_which_one_may_be_lost) {
  ring_->joined({11, 0, 4, 0});
  ring_->posted(message(CallKind::send, 1, 7, 64));
  ring_->posted(message(CallKind::send, 1, 8, 128));
  ring_->posted(message(CallKind::send, 1, 9, 192));
  ring_->cancelled(64);
  ring_->lost_count(message(CallKind::send, 1, 8));
  for (const std::int32_t tag : {7, 8, 9}) call(message(CallKind::send, 1, tag));
  EXPECT_EQ(sends_counted(), (std::map<std::int32_t, std::uint64_t>{{7, 0}, {8, 0}, {9, 2}}));
}

TEST_F(Ring, says_for_how_many_requests_a_call_waits_that_it_does_not_have) {
  ring_->posted(record(CallKind::receive, 0, 42));
  ring_->began(record(CallKind::wait_any));
  for (const std::uint64_t request : {42, 43, 44}) ring_->awaited(request);
  EXPECT_TRUE(std::ranges::any_of(read()->lasting,
                                  [](const CallRecord& r) { return r.kind == CallKind::wait_any && r.number == 2; }));
}

TEST_F(Ring, says_how_many_calls_last_of_threads_that_have_no_place) {
  constexpr std::ptrdiff_t kThreads = CallFile::kThreads + 8;
  std::barrier all_in(kThreads + 1);
  std::barrier all_seen(kThreads + 1);
  std::vector<std::thread> threads;
  for (std::ptrdiff_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      ring_->began(record(CallKind::receive));
      all_in.arrive_and_wait();
      all_seen.arrive_and_wait();
      ring_->ended(record(CallKind::receive));
    });
  }
  all_in.arrive_and_wait();
  const auto file = read();
  all_seen.arrive_and_wait();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(in_use(file->lasting) + file->calls_left_out, static_cast<std::size_t>(kThreads));
  EXPECT_GE(file->calls_left_out, 8U);
  EXPECT_EQ(read()->calls_left_out, 0U);
}

TEST_F(Ring, refuses_more_names_than_its_file_has) {
  const std::vector<const char*> names(CallFile::kNames + 1, "MPI_Send");
  const auto ring = tap::CallRing::open(store_, {.rank = Rank{2}, .ranks = 4, .process = 77}, names);
  EXPECT_THAT(ring, Fails(Code::invalid_argument, {"1025", "1024"}));
}

TEST_F(Ring, shows_a_call_while_it_lasts_and_the_last_4096_when_they_have_ended) {
  ring_->began(record(CallKind::send, 1));
  EXPECT_EQ(in_use(read()->lasting), 1U);
  ring_->ended(record(CallKind::send, 1));
  for (std::uint64_t i = 2; i <= 5000; ++i) call(record(CallKind::send, i));
  const auto file = read();
  EXPECT_EQ(in_use(file->lasting), 0U);
  EXPECT_EQ(file->calls, 5000U);
  EXPECT_EQ(file->past[(5000 - 1) % CallFile::kPast].number, 5000U);
  EXPECT_EQ(file->past[5000 % CallFile::kPast].number, 5000U - CallFile::kPast + 1);
}

TEST_F(Ring, has_one_place_for_a_question_that_is_asked_again_and_again) {
  call(record(CallKind::send));
  for (int i = 0; i < 10'000; ++i) {
    ring_->began(record(CallKind::test, 0, 42));
    ring_->asked_in_vain(record(CallKind::test, 0, 42));
  }
  const auto file = read();
  EXPECT_EQ(file->calls, 2U);
  EXPECT_EQ(file->past[1].kind, CallKind::test);
  EXPECT_EQ(file->past[1].number, 10'000U);
  EXPECT_EQ(in_use(file->lasting), 0U);
}

TEST_F(Ring, keeps_requests_until_they_are_complete) {
  ring_->posted(record(CallKind::receive, 0, 42));
  ring_->posted(record(CallKind::send, 0, 43));
  ring_->awaited(42);
  auto file = read();
  EXPECT_EQ(in_use(file->pending), 2U);
  EXPECT_EQ(std::ranges::count_if(file->pending, [](const CallRecord& one) { return one.waiter != 0; }), 1);
  ring_->still_pending(42);
  ring_->completed(43, true);
  file = read();
  EXPECT_EQ(in_use(file->pending), 2U);
  EXPECT_EQ(std::ranges::count_if(file->pending, [](const CallRecord& one) { return one.waiter != 0; }), 0);
  for (const std::uint64_t request : {42, 43, 44}) ring_->completed(request, false);
  EXPECT_EQ(in_use(read()->pending), 0U);
}

TEST_F(Ring, counts_what_it_has_no_place_for) {
  for (std::uint64_t i = 1; i <= 3000; ++i) ring_->posted(record(CallKind::send, 0, i * 64));
  for (std::uint64_t i = 1; i <= 1000; ++i) ring_->joined({i * 64, 0, 4, 0});
  const auto file = read();
  const auto comms = std::ranges::count_if(file->comms, [](const CommRecord& comm) { return comm.id != 0; });
  EXPECT_EQ(in_use(file->pending) + static_cast<std::size_t>(comms) + file->requests_left_out + file->comms_left_out,
            4000U);
  EXPECT_GT(in_use(file->pending), CallFile::kPending / 2);
  for (std::uint64_t i = 1; i <= 3000; ++i) ring_->completed(i * 64, false);
  EXPECT_EQ(in_use(read()->pending), 0U);
}

TEST_F(Ring, counts_collectives_of_a_communicator_while_it_is_there) {
  ring_->joined({11, 0, 4, 0});
  call(record(CallKind::collective, 6));
  EXPECT_EQ(std::ranges::count_if(read()->comms, [](const CommRecord& comm) { return comm.collectives == 6; }), 1);
  ring_->left(11);
  EXPECT_EQ(std::ranges::count_if(read()->comms, [](const CommRecord& comm) { return comm.id != 0; }), 0);
}

TEST_F(Ring, keeps_the_names_of_communicators_while_they_are_there) {
  ring_->joined({11, 0, 4, 0});
  ring_->named(11, "rows of the\nm\xc3\xa4trix, a name that is much too long");
  ring_->named(12, "of another family");
  ring_->is_session(11);
  const auto name_of_11 = [&]() -> std::string {
    const auto file = read();
    for (std::size_t i = 0; i < file->comms.size(); ++i)
      if (file->comms[i].id == 11) return file->comm_names[i].data();
    return "";
  };
  EXPECT_EQ(name_of_11(), "rows of the?m??trix, a name tha");
  EXPECT_EQ(read()->session_comm, 11U);
  ring_->left(11);
  EXPECT_TRUE(std::ranges::all_of(read()->comm_names, [](const auto& name) { return name.front() == '\0'; }));
}

TEST_F(Ring, has_a_place_for_each_of_many_threads_one_after_another) {
  for (int i = 0; i < 100; ++i) {
    std::thread([this] { ring_->began(record(CallKind::receive)); }).join();
  }
  EXPECT_EQ(in_use(read()->lasting), 1U);
  std::thread([this] { call(record(CallKind::send)); }).join();
  EXPECT_EQ(in_use(read()->lasting), 0U);
}

TEST_F(Ring, tells_of_the_head_that_a_repair_has_put_in_place_of_another) {
  ring_->is_served_by({.node = NodeId{1}, .head_process = 5000});
  EXPECT_EQ(read()->node, 1U);
  EXPECT_EQ(read()->head_process, 5000);
  EXPECT_EQ(read()->head_rank, kNoPeer);
  ring_->is_served_by({.node = NodeId{2}, .head_process = 77, .head_rank = Rank{3}});
  EXPECT_EQ(read()->node, 2U);
  EXPECT_EQ(read()->head_rank, 3);
}

TEST_F(Ring, takes_its_file_away_and_takes_the_place_of_an_old_one) {
  call(record(CallKind::send));
  auto other = tap::CallRing::open(store_, {.rank = Rank{3}, .ranks = 4, .process = 78}, names_);
  ASSERT_TRUE(other);
  call(record(CallKind::send));  // the old one still has its bytes
  EXPECT_EQ(read()->process, 78);
  EXPECT_EQ(read()->calls, 0U);
  ring_.reset();
  EXPECT_EQ(read()->process, 78);
  other->reset();
  EXPECT_FALSE(store_->open(names::calls(Rank{3})));
}

}  // namespace
}  // namespace cairn::test
