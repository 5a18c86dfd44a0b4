// A small application for the tests beside this file whose ranks ask MPI again and again whether something has come, as
// a master does that has workers:
//
//   pollers WHO[:HOW] --steps N --config FILE --output FILE --pause-ms N
//
// HOW is the call by which rank 0 asks; otherwise it is another one in each step. WHO says for whom it asks when rank 2
// dies, once in each step of the first steps:
//
//   any     for a message of any worker. The others wait for rank 0 in MPI_Recv.
//   live    for a message of rank 1, which waits for rank 2.
//   early   as any, but before restore()
//   world   as live, but rank 0 and rank 1 use MPI_COMM_WORLD, of which the session knows nothing
//   window  for what rank 1 does with a window
//
// No rank makes a Cairn call meanwhile, or looks at what MPI calls return. Rank 0 writes the sum of all messages.
#include <fcntl.h>
#include <mpi.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <cairn/cairn.hpp>

#include "options.hpp"

namespace {

constexpr int kResult = 1;
constexpr int kReply = 2;
constexpr int kNews = 3;
constexpr int kWorkers = 2;

// Rank 2, when the others have come to their calls; once in all lives of the job.
void die_once(const std::string& where) {
  const int file = open(("died." + where).c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  if (file < 0) return;
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  std::raise(SIGKILL);
}

// Requests of receives. Where the session does not know the communicator, nothing ends them if the rank rolls back.
struct Requests {
  std::array<MPI_Request, kWorkers> all{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  bool ends = false;
  Requests() = default;
  ~Requests() {
    for (MPI_Request& request : all) {
      if (!ends || request == MPI_REQUEST_NULL) continue;
      MPI_Cancel(&request);
      MPI_Request_free(&request);
    }
  }
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;
  [[nodiscard]] MPI_Request* data() { return all.data(); }
};

// Messages that rank 0 gets, by one of the calls below.
struct Inbox {
  MPI_Comm comm = MPI_COMM_NULL;
  int from = MPI_ANY_SOURCE;
  int count = 0;            // of messages
  bool is_unknown = false;  // the communicator, to the session
  std::vector<std::int64_t> values = std::vector<std::int64_t>(kWorkers);

  [[nodiscard]] int size() const { return static_cast<int>(values.size()); }
  void receive(int place, int source) {
    MPI_Recv(&values[static_cast<std::size_t>(place)], 1, MPI_INT64_T, source, kResult, comm, MPI_STATUS_IGNORE);
  }
  void begin(Requests& requests, int place, int source) {
    requests.ends = is_unknown;
    MPI_Irecv(&values[static_cast<std::size_t>(place)], 1, MPI_INT64_T, source, kResult, comm, requests.data());
  }
  // One for each worker whose message comes.
  void begin_all(Requests& requests) {
    requests.ends = is_unknown;
    for (int place = 0; place < count; ++place)
      MPI_Irecv(&values[static_cast<std::size_t>(place)], 1, MPI_INT64_T, from == MPI_ANY_SOURCE ? place + 1 : from,
                kResult, comm, requests.data() + place);
  }
  [[nodiscard]] std::int64_t sum() const {
    std::int64_t sum = 0;
    for (int place = 0; place < count; ++place) sum += values[static_cast<std::size_t>(place)];
    return sum;
  }
};

using Get = std::function<void(Inbox&)>;

template <class Each>
Get each(Each get) {
  return [get](Inbox& in) {
    for (int place = 0; place < in.count; ++place) get(in, place);
  };
}

// In the order in which they are played.
const std::vector<std::pair<std::string, Get>>& calls() {
  static const std::vector<std::pair<std::string, Get>> all{
      {"iprobe", each([](Inbox& in, int place) {
         MPI_Status status;
         for (int flag = 0; flag == 0;) MPI_Iprobe(in.from, kResult, in.comm, &flag, &status);
         in.receive(place, status.MPI_SOURCE);
       })},
      {"improbe", each([](Inbox& in, int place) {
         MPI_Message message = MPI_MESSAGE_NULL;
         for (int flag = 0; flag == 0;) MPI_Improbe(in.from, kResult, in.comm, &flag, &message, MPI_STATUS_IGNORE);
         MPI_Mrecv(&in.values[static_cast<std::size_t>(place)], 1, MPI_INT64_T, &message, MPI_STATUS_IGNORE);
       })},
      {"probe", each([](Inbox& in, int place) {
         MPI_Status status;
         MPI_Probe(in.from, kResult, in.comm, &status);
         in.receive(place, status.MPI_SOURCE);
       })},
      {"mprobe", each([](Inbox& in, int place) {
         MPI_Message message = MPI_MESSAGE_NULL;
         MPI_Mprobe(in.from, kResult, in.comm, &message, MPI_STATUS_IGNORE);
         MPI_Mrecv(&in.values[static_cast<std::size_t>(place)], 1, MPI_INT64_T, &message, MPI_STATUS_IGNORE);
       })},
      {"test", each([](Inbox& in, int place) {
         Requests requests;
         in.begin(requests, place, in.from);
         for (int flag = 0; flag == 0;) MPI_Test(requests.data(), &flag, MPI_STATUS_IGNORE);
       })},
      {"get-status", each([](Inbox& in, int place) {
         Requests requests;
         in.begin(requests, place, in.from);
         for (int flag = 0; flag == 0;) MPI_Request_get_status(requests.all[0], &flag, MPI_STATUS_IGNORE);
         MPI_Wait(requests.data(), MPI_STATUS_IGNORE);
       })},
      {"testany",
       [](Inbox& in) {
         Requests requests;
         in.begin_all(requests);
         for (int left = in.count; left > 0;) {
           int flag = 0;
           int index = 0;
           MPI_Testany(kWorkers, requests.data(), &index, &flag, MPI_STATUS_IGNORE);
           if (flag != 0) --left;
         }
       }},
      {"testsome",
       [](Inbox& in) {
         Requests requests;
         in.begin_all(requests);
         for (int left = in.count; left > 0;) {
           int done = 0;
           std::array<int, kWorkers> indices{};
           MPI_Testsome(kWorkers, requests.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
           if (done != MPI_UNDEFINED) left -= done;
         }
       }},
      {"testall",
       [](Inbox& in) {
         Requests requests;
         in.begin_all(requests);
         for (int flag = 0; flag == 0;) MPI_Testall(kWorkers, requests.data(), &flag, MPI_STATUSES_IGNORE);
       }},
      {"waitany",
       [](Inbox& in) {
         Requests requests;
         in.begin_all(requests);
         for (int left = in.count; left > 0; --left) {
           int index = 0;
           MPI_Waitany(kWorkers, requests.data(), &index, MPI_STATUS_IGNORE);
         }
       }},
      {"waitsome",
       [](Inbox& in) {
         Requests requests;
         in.begin_all(requests);
         for (int left = in.count; left > 0;) {
           int done = 0;
           std::array<int, kWorkers> indices{};
           MPI_Waitsome(kWorkers, requests.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
           if (done != MPI_UNDEFINED) left -= done;
         }
       }},
  };
  return all;
}

// What rank 1 puts into memory of rank 0.
class Window {
 public:
  explicit Window(MPI_Comm comm) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Win_allocate(sizeof(std::int64_t), sizeof(std::int64_t), MPI_INFO_NULL, comm, static_cast<void*>(&value_),
                     &window_);
    MPI_Comm_group(comm, &all_);
    MPI_Group_incl(all_, 1, kReceiver.data(), &receiver_);
    MPI_Group_incl(all_, 1, kSender.data(), &sender_);
  }
  ~Window() {
    for (MPI_Group* const group : {&all_, &receiver_, &sender_}) MPI_Group_free(group);
    MPI_Win_free(&window_);
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  void put(std::int64_t value, const std::string& how) const {
    if (how == "fetch") {
      MPI_Win_lock_all(0, window_);
      MPI_Accumulate(&value, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, MPI_REPLACE, window_);
      MPI_Win_unlock_all(window_);
      return;
    }
    MPI_Win_start(receiver_, 0, window_);
    MPI_Put(&value, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, window_);
    MPI_Win_complete(window_);
  }
  [[nodiscard]] std::int64_t get(const std::string& how) const {
    if (how == "fetch") return fetch();
    MPI_Win_post(sender_, 0, window_);
    if (how == "win-wait") MPI_Win_wait(window_);
    for (int flag = how == "win-wait" ? 1 : 0; flag == 0;) MPI_Win_test(window_, &flag);
    return *value_;
  }
  // Nobody puts into it meanwhile.
  void clear() const { *value_ = 0; }

 private:
  static constexpr std::array<int, 1> kReceiver{0};
  static constexpr std::array<int, 1> kSender{1};

  [[nodiscard]] std::int64_t fetch() const {
    const std::int64_t none = 0;
    std::int64_t found = 0;
    MPI_Win_lock_all(0, window_);
    while (found == 0) {
      MPI_Fetch_and_op(&none, &found, MPI_INT64_T, 0, 0, MPI_NO_OP, window_);
      MPI_Win_flush(0, window_);
    }
    MPI_Win_unlock_all(window_);
    return found;
  }

  int rank_ = 0;
  std::int64_t* value_ = nullptr;
  MPI_Win window_ = MPI_WIN_NULL;
  MPI_Group all_ = MPI_GROUP_NULL;
  MPI_Group receiver_ = MPI_GROUP_NULL;
  MPI_Group sender_ = MPI_GROUP_NULL;
};

class Application {
 public:
  Application(cairn::Session& session, const Options& options)
      : session_(session), options_(options), comm_(session.comm()), rank_(static_cast<int>(session.rank())) {
    const auto colon = options.what.find(':');
    who_ = options.what.substr(0, colon);
    if (colon != std::string::npos) only_ = options.what.substr(colon + 1);
  }

  void run() {
    if (who_ == "early") set_up();
    if (who_ == "window") window_ = std::make_unique<Window>(comm_);
    session_.protect("step", step_);
    session_.protect("sum", sum_);
    session_.restore();
    while (step_ < options_.steps) {
      ++step_;
      sum_ += who_ == "window" ? use_window(name_of_step()) : exchange(name_of_step(), step_);
      session_.snapshot();
    }
    if (rank_ == 0) std::ofstream(options_.output) << sum_ << "\n";
  }

 private:
  [[nodiscard]] std::string name_of_step() const {
    if (!only_.empty()) return only_;
    static const std::vector<std::string> ways{"win-test", "win-wait", "fetch"};
    const auto turn = static_cast<std::size_t>(step_ - 1);
    return who_ == "window" ? ways[turn % ways.size()] : calls()[turn % calls().size()].first;
  }

  // No more deaths than Cairn takes without a snapshot.
  void set_up() {
    constexpr std::size_t kFew = 6;
    for (std::size_t i = 0; i < kFew; ++i) {
      const std::string& name = calls()[i].first;
      if (only_.empty() || only_ == name) (void)exchange(name, 0);
    }
  }

  std::int64_t exchange(const std::string& how, std::int64_t step) {
    const bool early = step == 0;
    const bool any = who_ == "any" || early;
    if (rank_ == 2 && (early || who_ != "early")) die_once(how + "." + std::to_string(step));
    if (rank_ == 0) return collect(how, any);
    std::int64_t value = step * rank_;
    if (any) {
      MPI_Send(&value, 1, MPI_INT64_T, 0, kResult, comm_);
      MPI_Recv(&value, 1, MPI_INT64_T, 0, kReply, comm_, MPI_STATUS_IGNORE);
    } else if (rank_ == 2) {
      MPI_Send(&value, 1, MPI_INT64_T, 1, kNews, comm_);
      MPI_Recv(&value, 1, MPI_INT64_T, 1, kReply, comm_, MPI_STATUS_IGNORE);
    } else {
      std::int64_t news = 0;
      MPI_Recv(&news, 1, MPI_INT64_T, 2, kNews, comm_, MPI_STATUS_IGNORE);
      value += news;
      MPI_Send(&value, 1, MPI_INT64_T, in_world(0), kResult, comm_of_pair());
      MPI_Send(&value, 1, MPI_INT64_T, 2, kReply, comm_);
    }
    return 0;
  }

  std::int64_t collect(const std::string& how, bool any) const {
    Inbox in{.comm = any ? comm_ : comm_of_pair(),
             .from = any ? MPI_ANY_SOURCE : in_world(1),
             .count = any ? 2 : 1,
             .is_unknown = who_ == "world"};
    for (const auto& [name, get] : calls())
      if (name == how) get(in);
    const std::int64_t sum = in.sum();
    for (int worker = 1; any && worker <= kWorkers; ++worker) MPI_Send(&sum, 1, MPI_INT64_T, worker, kReply, comm_);
    return sum;
  }

  std::int64_t use_window(const std::string& how) {
    std::int64_t value = step_ * rank_;
    if (rank_ == 2) {
      die_once(how + "." + std::to_string(step_));
      MPI_Send(&value, 1, MPI_INT64_T, 1, kNews, comm_);
    }
    if (rank_ == 1) {
      std::int64_t news = 0;
      MPI_Recv(&news, 1, MPI_INT64_T, 2, kNews, comm_, MPI_STATUS_IGNORE);
      window_->put(value + news, how);
    }
    const std::int64_t found = rank_ == 0 ? window_->get(how) : 0;
    if (rank_ == 0) window_->clear();
    MPI_Barrier(comm_);
    return found;
  }

  // Where rank 0 and rank 1, which do not die, exchange messages.
  [[nodiscard]] MPI_Comm comm_of_pair() const { return who_ == "world" ? MPI_COMM_WORLD : comm_; }
  [[nodiscard]] int in_world(int rank) const {
    if (who_ != "world") return rank;
    MPI_Group here = MPI_GROUP_NULL;
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Comm_group(comm_, &here);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    int found = MPI_UNDEFINED;
    MPI_Group_translate_ranks(here, 1, &rank, world, &found);
    MPI_Group_free(&here);
    MPI_Group_free(&world);
    return found;
  }

  cairn::Session& session_;
  const Options& options_;
  MPI_Comm comm_;
  int rank_;
  std::string who_;
  std::string only_;  // empty: all calls in turn
  std::unique_ptr<Window> window_;
  std::int64_t step_ = 0;
  std::int64_t sum_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  MPI_Init(&argc, &argv);
  const int code =
      cairn::run(MPI_COMM_WORLD, options.config, [&](cairn::Session& session) { Application(session, options).run(); });
  MPI_Finalize();
  return code;
}
