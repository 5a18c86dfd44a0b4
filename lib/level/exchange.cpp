#include "level/exchange.hpp"

#include <algorithm>
#include <array>
#include <memory>

namespace cairn {
namespace {

constexpr std::size_t kDepth = 2;                  // slices under way per stream
constexpr std::uint64_t kWindowBytes = 64 * kMiB;  // of buffers, each for sending and receiving

std::uint64_t slice_length(std::uint64_t bytes, std::uint64_t offset) { return std::min(kSliceBytes, bytes - offset); }

// A stream being sent: two slices take turns, each from where its bytes lie or from a buffer.
class Sender {
 public:
  explicit Sender(Outgoing& stream) : stream_(stream) {}

  [[nodiscard]] bool done() const {
    return offset_ == stream_.bytes && std::ranges::all_of(slots_, [](const Slot& slot) { return !slot.request; });
  }

  // Starts and completes what can be; true when anything moved.
  Result<bool> advance(Comm& comm) {
    bool moved = false;
    for (Slot& slot : slots_) {
      if (slot.request) {
        auto finished = slot.request->test();
        if (!finished) return fail(finished.error());
        if (!*finished) continue;
        slot.request.reset();
        moved = true;
      }
      if (offset_ < stream_.bytes) {
        start(comm, slot);
        moved = true;
      }
    }
    return moved;
  }

 private:
  struct Slot {
    Buffer buffer;
    std::unique_ptr<Request> request;
  };

  void start(Comm& comm, Slot& slot) {
    const std::uint64_t length = slice_length(stream_.bytes, offset_);
    slot.request = comm.isend(stream_.to, stream_.tag, slice(length, slot.buffer));
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
  std::array<Slot, kDepth> slots_;
  std::uint64_t offset_ = 0;
};

// A stream being received: its slices are consumed in order, each when all its inputs are there.
class Receiver {
 public:
  Receiver(Comm& comm, Incoming& stream) : stream_(stream) {
    for (Slot& slot : slots_) start(comm, slot);
  }

  [[nodiscard]] bool done() const { return consumed_ == stream_.bytes; }

  Result<bool> advance(Comm& comm) {
    if (done()) return false;
    Slot& slot = slots_[turn_];
    for (auto& request : slot.requests) {
      if (!request) continue;
      auto finished = request->test();
      if (!finished) return fail(finished.error());
      if (!*finished) return false;
      request.reset();
    }
    consume(slot);
    start(comm, slot);
    turn_ = (turn_ + 1) % slots_.size();
    return true;
  }

 private:
  struct Slot {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    std::vector<Buffer> buffers;
    std::vector<Bytes> views;  // of the inputs: in buffers, or in place
    std::vector<std::unique_ptr<Request>> requests;
  };

  void start(Comm& comm, Slot& slot) {
    if (started_ == stream_.bytes) return;
    slot.offset = started_;
    slot.length = slice_length(stream_.bytes, started_);
    slot.buffers.resize(stream_.inputs.size());
    slot.views.resize(stream_.inputs.size());
    slot.requests.resize(stream_.inputs.size());
    for (std::size_t i = 0; i < stream_.inputs.size(); ++i) {
      const Incoming::Input& input = stream_.inputs[i];
      if (!input.from) continue;
      const MutableBytes target = room(slot, i);
      slot.views[i] = target;
      slot.requests[i] = comm.irecv(*input.from, input.tag, target);
    }
    started_ += slot.length;
  }

  MutableBytes room(Slot& slot, std::size_t input) {
    if (stream_.place && stream_.inputs.size() == 1 && stream_.status) {
      const MutableBytes place = stream_.place(slot.offset, slot.length);
      if (!place.empty()) return place;
    }
    slot.buffers[input].resize(slot.length);
    return slot.buffers[input];
  }

  void consume(Slot& slot) {
    for (std::size_t i = 0; i < slot.views.size(); ++i) {
      const Incoming::Input& input = stream_.inputs[i];
      if (input.from || !stream_.status) continue;
      auto bytes = input.read(slot.offset, slot.length, slot.buffers[i]);
      if (bytes) {
        slot.views[i] = *bytes;
      } else {
        stream_.status = fail(bytes.error());
        stream_.bad_input = i;
      }
    }
    if (stream_.status) stream_.status = stream_.consume(slot.offset, slot.views);
    consumed_ += slot.length;
  }

  Incoming& stream_;
  std::array<Slot, kDepth> slots_;
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

// Drops finished streams from the front of the window's list and says whether any was.
template <class Worker>
bool drop_finished(std::vector<std::unique_ptr<Worker>>& active) {
  return std::erase_if(active, [](const auto& worker) { return worker->done(); }) > 0;
}

}  // namespace

Status exchange(Comm& comm, std::vector<Outgoing>& outgoing, std::vector<Incoming>& incoming,
                const std::function<void()>& between) {
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
    if (senders.empty() && receivers.empty()) return {};

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
    moved |= drop_finished(senders);
    moved |= drop_finished(receivers);
    if (moved) between();
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
