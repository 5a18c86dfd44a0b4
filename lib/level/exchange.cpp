#include "level/exchange.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <set>

namespace cairn {
namespace {

constexpr std::size_t kDepth = 2;                  // slices under way per stream
constexpr std::uint64_t kWindowBytes = 64 * kMiB;  // of buffers, each for sending and receiving

std::uint64_t slice_length(std::uint64_t bytes, std::uint64_t offset) { return std::min(kSliceBytes, bytes - offset); }

// Notes for a watcher how long streams take, and who holds them up. Peers are heads, by the numbers of their nodes.
class Stopwatch {
 public:
  explicit Stopwatch(SymptomPort* watcher) : watcher_(watcher), begun_(Clock::now()), moved_(begun_) {}

  void done(Peer peer, std::uint64_t bytes) {
    if (watcher_ == nullptr) return;
    SymptomPort::Transfer& transfer = transfers_[peer.value];
    transfer.other.value = peer.value;
    transfer.bytes += bytes;
    transfer.seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
  }
  void end() const {
    if (watcher_ == nullptr) return;
    std::vector<SymptomPort::Transfer> all;
    for (const auto& [peer, transfer] : transfers_) all.push_back(transfer);
    watcher_->note_transfers(all);
  }
  void moved() { moved_ = reported_ = Clock::now(); }
  // Whether it is time to say who holds up the streams.
  [[nodiscard]] bool stalls() {
    if (watcher_ == nullptr || Clock::now() - reported_ < kStalled) return false;
    reported_ = Clock::now();
    return true;
  }
  void held_up_by(const std::set<Peer>& peers) const {
    const double waited = std::chrono::duration<double>(Clock::now() - moved_).count();
    for (const Peer peer : peers)
      watcher_->report({SymptomKind::no_response, {NodeId{peer.value}, std::nullopt}, {}, {}, waited});
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kStalled{10};
  SymptomPort* watcher_;
  Clock::time_point begun_, moved_, reported_ = begun_;
  std::map<std::uint32_t, SymptomPort::Transfer> transfers_;
};

// A stream being sent: two slices take turns, each from where its bytes lie or from a buffer.
class Sender {
 public:
  explicit Sender(Outgoing& stream) : stream_(stream) {}

  [[nodiscard]] bool done() const {
    return offset_ == stream_.bytes &&
           std::ranges::all_of(in_flight_, [](const InFlight& piece) { return !piece.request; });
  }

  void add_awaited(std::set<Peer>& peers) const {
    if (std::ranges::any_of(in_flight_, [](const InFlight& piece) { return piece.request != nullptr; }))
      peers.insert(stream_.to);
  }
  void note_end(Stopwatch& watch) const { watch.done(stream_.to, stream_.bytes); }

  // Starts and completes what can be; true when anything moved.
  Result<bool> advance(Comm& comm) {
    bool moved = false;
    for (InFlight& piece : in_flight_) {
      if (piece.request) {
        auto finished = piece.request->test();
        if (!finished) return fail(finished.error());
        if (!*finished) continue;
        piece.request.reset();
        moved = true;
      }
      if (offset_ < stream_.bytes) {
        start(comm, piece);
        moved = true;
      }
    }
    return moved;
  }

 private:
  struct InFlight {
    Buffer buffer;
    std::unique_ptr<Request> request;
  };

  void start(Comm& comm, InFlight& piece) {
    const std::uint64_t length = slice_length(stream_.bytes, offset_);
    piece.request = comm.isend(stream_.to, stream_.tag, slice(length, piece.buffer));
    offset_ += length;
  }

  Bytes slice(std::uint64_t length, Buffer& buffer) {
    if (stream_.status) {
      auto bytes = stream_.read(offset_, length, buffer);
      if (bytes) return *bytes;
      stream_.status = fail(bytes.error());
    }
    buffer.assign(length, std::byte{0});
    return buffer;
  }

  Outgoing& stream_;
  std::array<InFlight, kDepth> in_flight_;
  std::uint64_t offset_ = 0;
};

// A stream being received: its slices are consumed in order, each when all its inputs are there.
class Receiver {
 public:
  Receiver(Comm& comm, Incoming& stream) : stream_(stream) {
    for (InFlight& piece : in_flight_) start(comm, piece);
  }

  [[nodiscard]] bool done() const { return consumed_ == stream_.bytes; }
  void add_awaited(std::set<Peer>& peers) const {
    const InFlight& piece = in_flight_[turn_];
    for (std::size_t i = 0; i < piece.requests.size(); ++i)
      if (piece.requests[i]) peers.insert(*stream_.inputs[i].from);
  }
  void note_end(Stopwatch& watch) const {
    for (const Incoming::Input& input : stream_.inputs)
      if (input.from) watch.done(*input.from, stream_.bytes);
  }

  Result<bool> advance(Comm& comm) {
    if (done()) return false;
    InFlight& piece = in_flight_[turn_];
    for (auto& request : piece.requests) {
      if (!request) continue;
      auto finished = request->test();
      if (!finished) return fail(finished.error());
      if (!*finished) return false;
      request.reset();
    }
    consume(piece);
    start(comm, piece);
    turn_ = (turn_ + 1) % in_flight_.size();
    return true;
  }

 private:
  struct InFlight {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    std::vector<Buffer> buffers;
    std::vector<Bytes> views;  // of the inputs: in buffers, or in place
    std::vector<std::unique_ptr<Request>> requests;
  };

  void start(Comm& comm, InFlight& piece) {
    if (started_ == stream_.bytes) return;
    piece.offset = started_;
    piece.length = slice_length(stream_.bytes, started_);
    piece.buffers.resize(stream_.inputs.size());
    piece.views.resize(stream_.inputs.size());
    piece.requests.resize(stream_.inputs.size());
    for (std::size_t i = 0; i < stream_.inputs.size(); ++i) {
      const Incoming::Input& input = stream_.inputs[i];
      if (!input.from) continue;
      const MutableBytes target = room(piece, i);
      piece.views[i] = target;
      piece.requests[i] = comm.irecv(*input.from, input.tag, target);
    }
    started_ += piece.length;
  }

  MutableBytes room(InFlight& piece, std::size_t input) {
    if (stream_.place && stream_.inputs.size() == 1 && stream_.status) {
      const MutableBytes place = stream_.place(piece.offset, piece.length);
      if (!place.empty()) return place;
    }
    piece.buffers[input].resize(piece.length);
    return piece.buffers[input];
  }

  void consume(InFlight& piece) {
    for (std::size_t i = 0; i < piece.views.size(); ++i) {
      const Incoming::Input& input = stream_.inputs[i];
      if (input.from || !stream_.status) continue;
      auto bytes = input.read(piece.offset, piece.length, piece.buffers[i]);
      if (bytes) {
        piece.views[i] = *bytes;
      } else {
        stream_.status = fail(bytes.error());
        stream_.bad_input = i;
      }
    }
    if (stream_.status) stream_.status = stream_.consume(piece.offset, piece.views);
    consumed_ += piece.length;
  }

  Incoming& stream_;
  std::array<InFlight, kDepth> in_flight_;
  std::size_t turn_ = 0;
  std::uint64_t started_ = 0;
  std::uint64_t consumed_ = 0;
};

template <class Stream>
std::vector<Stream*> in_order(std::vector<Stream>& streams) {
  std::vector<Stream*> order;
  for (Stream& stream : streams) {
    stream.status = {};
    if (stream.bytes > 0) order.push_back(&stream);
  }
  std::ranges::stable_sort(order, {}, [](const Stream* stream) { return stream->order; });
  return order;
}

// Drops finished streams from the front of the window's list. Returns whether there were any.
template <class Worker>
bool drop_finished(std::vector<std::unique_ptr<Worker>>& active, Stopwatch& watch) {
  const auto ends = [&](const auto& worker) {
    if (worker->done()) worker->note_end(watch);
    return worker->done();
  };
  return std::erase_if(active, ends) > 0;
}

}  // namespace

Status exchange(Comm& comm, std::vector<Outgoing>& outgoing, std::vector<Incoming>& incoming,
                const std::function<void()>& between, SymptomPort* watcher) {
  Stopwatch watch(watcher);
  const auto to_send = in_order(outgoing);
  const auto to_receive = in_order(incoming);
  std::size_t inputs = 1;
  for (const Incoming& stream : incoming) inputs = std::max(inputs, stream.inputs.size());
  const std::size_t send_window = kWindowBytes / (kDepth * kSliceBytes);
  const std::size_t receive_window = std::max<std::size_t>(1, kWindowBytes / (kDepth * kSliceBytes * inputs));

  std::vector<std::unique_ptr<Sender>> senders;
  std::vector<std::unique_ptr<Receiver>> receivers;
  std::size_t next_send = 0;
  std::size_t next_receive = 0;
  while (true) {
    while (senders.size() < send_window && next_send < to_send.size()) {
      senders.push_back(std::make_unique<Sender>(*to_send[next_send++]));
    }
    while (receivers.size() < receive_window && next_receive < to_receive.size()) {
      receivers.push_back(std::make_unique<Receiver>(comm, *to_receive[next_receive++]));
    }
    if (senders.empty() && receivers.empty()) {
      watch.end();
      return {};
    }

    bool moved = false;
    for (auto& receiver : receivers) {
      auto result = receiver->advance(comm);
      if (!result) return fail(result.error());
      moved |= *result;
    }
    for (auto& sender : senders) {
      auto result = sender->advance(comm);
      if (!result) return fail(result.error());
      moved |= *result;
    }
    moved |= drop_finished(senders, watch);
    moved |= drop_finished(receivers, watch);
    if (moved) watch.moved();
    if (moved) between();
    if (watch.stalls()) {
      std::set<Peer> peers;
      for (const auto& receiver : receivers) receiver->add_awaited(peers);
      for (const auto& sender : senders) sender->add_awaited(peers);
      watch.held_up_by(peers);
    }
    comm.idle(moved);
  }
}

Result<std::vector<Buffer>> exchange_messages(Comm& comm, Tag tag, Bytes mine, const std::vector<Peer>& to,
                                              const std::vector<Expected>& from) {
  std::vector<Buffer> received;
  std::vector<std::unique_ptr<Request>> requests;
  for (const Expected& expected : from) received.emplace_back(expected.bytes);
  for (std::size_t i = 0; i < from.size(); ++i) requests.push_back(comm.irecv(from[i].from, tag, received[i]));
  for (const Peer peer : to) requests.push_back(comm.isend(peer, tag, mine));
  for (auto& request : requests) {
    if (auto status = comm.wait(*request); !status) return fail(status.error());
  }
  return received;
}

}  // namespace cairn
