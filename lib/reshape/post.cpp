#include "reshape/post.hpp"

#include <algorithm>
#include <utility>

namespace cairn::reshape {
namespace {

constexpr Tag kEvenLetters{1};
constexpr Tag kOddLetters{2};

}  // namespace

Result<bool> Quiescence::test(std::uint64_t outstanding) {
  if (!request_) {
    if (outstanding != 0 && calls_left_ > 0) {
      --calls_left_;
      return false;
    }
    sum_ = outstanding;
    request_ = comm_.iallreduce({&sum_, 1}, Reduce::sum);
  }
  const auto done = request_->test();
  if (!done) return fail(done.error());
  if (!*done) return false;
  request_.reset();
  calls_left_ = pause_;
  return sum_ == 0;
}

Result<std::vector<Letter>> Inbox::take() {
  for (;;) {
    const auto envelope = comm_.probe(tag_);
    if (!envelope) return fail(envelope.error());
    if (!*envelope) break;
    Arriving& one = arriving_.emplace_back();
    one.letter = std::make_unique<Letter>(Letter{(*envelope)->source, Buffer((*envelope)->size_bytes)});
    one.request = comm_.irecv((*envelope)->source, tag_, one.letter->bytes);
  }
  std::vector<Letter> complete;
  for (Arriving& one : arriving_) {
    const auto done = one.request->test();
    if (!done) return fail(done.error());
    if (!*done) continue;
    complete.push_back(std::move(*one.letter));
    one.letter.reset();
  }
  std::erase_if(arriving_, [](const Arriving& one) { return !one.letter; });
  return complete;
}

Result<std::vector<Letter>> Post::exchange(Comm& comm, const Outbox& letters) {
  const Tag tag = std::exchange(odd_, !odd_) ? kOddLetters : kEvenLetters;
  std::vector<std::unique_ptr<Request>> sends;
  for (const auto& [to, bytes] : letters) sends.push_back(comm.isend(Peer{to}, tag, bytes));

  Inbox inbox(comm, tag);
  Quiescence quiescence(comm);
  std::vector<Letter> taken;
  for (;;) {
    auto arrived = inbox.take();
    if (!arrived) return fail(arrived.error());
    std::ranges::move(*arrived, std::back_inserter(taken));
    const auto ended = quiescence.test(letters.size() - taken.size());
    if (!ended) return fail(ended.error());
    if (*ended) break;
    comm.idle(!arrived->empty());
  }
  for (const auto& send : sends) {
    if (auto status = comm.wait(*send); !status) return fail(status.error());
  }
  std::ranges::stable_sort(taken, {}, &Letter::from);
  return taken;
}

}  // namespace cairn::reshape
