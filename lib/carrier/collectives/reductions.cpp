// Reductions. Operands are combined in the order of their ranks, unless the operation is commutative and the data are
// long; which two are combined depends on the ranks alone.
#include <algorithm>
#include <utility>

#include "carrier/collectives/collectives.hpp"

namespace cairn::collectives {
namespace {

// All ranks exchange longer data in parts.
constexpr MPI_Count kShortData = 16384;

struct Operation {
  MPI_Op op;
  MPI_Datatype type;

  [[nodiscard]] bool is_commutative() const {
    int commutative = 0;
    check(MPI_Op_commutative(op, &commutative));
    return commutative != 0;
  }
  // right = left op right.
  void into_right(const Source& left, const Target& right) const {
    check(MPI_Reduce_local(left.at, right.at, static_cast<int>(right.count), type, op));
  }
  // left = left op right; the memory of `right` is used up.
  void into_left(const Target& left, const Target& right) const {
    into_right(left, right);
    copy(right, left);
  }
};

[[nodiscard]] Source operand(const void* from, void* to, MPI_Count count, MPI_Datatype type) {
  return {from == MPI_IN_PLACE ? to : from, count, type};
}

// Binomial. The result is at the root; elsewhere `data` is used up.
void reduce_to(int root, const Operation& operation, const Target& data, Messages& messages) {
  const int size = messages.size();
  const int first = operation.is_commutative() ? root : 0;
  const int me = (messages.rank() - first + size) % size;
  const auto rank_of = [&](int member) { return (member + first) % size; };
  Elements theirs(data.count, data.type);
  int bit = 1;
  for (; bit < size && (me & bit) == 0; bit *= 2) {
    if (me + bit >= size) continue;
    messages.receive(theirs.all(), rank_of(me + bit));
    operation.into_left(data, theirs.all());
  }
  if (bit < size) messages.send(data, rank_of(me - bit));
  if (first == root) return;
  if (me == 0) messages.send(data, root);
  if (messages.rank() == root) messages.receive(data, rank_of(0));
}

// A power of two of the ranks reduces; of the others, each gives its data to the next one before, and gets the result.
class Fold {
 public:
  explicit Fold(const Messages& messages) : rank_(messages.rank()) {
    while (size_ * 2 <= messages.size()) size_ *= 2;
    pairs_ = messages.size() - size_;
  }
  [[nodiscard]] int size() const { return size_; }
  // Among those that reduce.
  [[nodiscard]] int me() const { return rank_ < 2 * pairs_ ? rank_ / 2 : rank_ - pairs_; }
  [[nodiscard]] int rank_of(int member) const { return member < pairs_ ? 2 * member + 1 : member + pairs_; }
  [[nodiscard]] bool is_left_out() const { return rank_ < 2 * pairs_ && rank_ % 2 == 0; }

  void begin(const Operation& operation, const Target& data, Messages& messages) const {
    if (rank_ >= 2 * pairs_) return;
    if (is_left_out()) return messages.send(data, rank_ + 1);
    Elements theirs(data.count, data.type);
    messages.receive(theirs.all(), rank_ - 1);
    operation.into_right(theirs.all(), data);
  }
  void end(const Target& data, Messages& messages) const {
    if (rank_ >= 2 * pairs_) return;
    is_left_out() ? messages.receive(data, rank_ + 1) : messages.send(data, rank_ - 1);
  }

 private:
  int rank_;
  int size_ = 1;
  int pairs_ = 0;
};

// Recursive doubling: all exchange all data.
void reduce_by_doubling(const Fold& fold, const Operation& operation, const Target& data, Messages& messages) {
  Elements theirs(data.count, data.type);
  for (int bit = 1; bit < fold.size(); bit *= 2) {
    const int other = fold.me() ^ bit;
    messages.exchange(data, fold.rank_of(other), theirs.all(), fold.rank_of(other));
    other < fold.me() ? operation.into_right(theirs.all(), data) : operation.into_left(data, theirs.all());
  }
}

// Each rank reduces one part of the data, and gets the others (Rabenseifner 2004, DOI 10.1007/978-3-540-24685-5_1).
void reduce_by_halving(const Fold& fold, const Operation& operation, const Target& data, Messages& messages) {
  const auto begin_of = [&](int part) { return data.count * part / fold.size(); };
  const auto parts = [&](int first, int count) {
    const MPI_Count begin = begin_of(first);
    return Target{element_of(data.at, begin, data.type), begin_of(first + count) - begin, data.type};
  };
  Elements theirs(data.count, data.type);
  int first = 0;  // of the parts that this rank reduces yet
  for (int half = fold.size() / 2; half > 0; half /= 2) {
    const int other = fold.rank_of(fold.me() ^ half);
    const int given = (fold.me() & half) != 0 ? first : first + half;
    first = (fold.me() & half) != 0 ? first + half : first;
    const Target kept = parts(first, half);
    const Target got = theirs.part(begin_of(first), kept.count);
    messages.exchange(parts(given, half), other, got, other);
    operation.into_right(got, kept);
  }
  for (int have = 1; have < fold.size(); have *= 2) {
    const int other = fold.me() ^ have;
    const int theirs_first = other / have * have;
    messages.exchange(parts(first, have), fold.rank_of(other), parts(theirs_first, have), fold.rank_of(other));
    first = std::min(first, theirs_first);
  }
}

// Each rank gets what the others have for it, and combines that in the order of ranks. `begins`: of each rank's part of
// `data`, and the end.
void reduce_and_scatter(const Operation& operation, const Source& data, const std::vector<MPI_Count>& begins, void* to,
                        Messages& messages) {
  const int size = messages.size();
  const int me = messages.rank();
  const auto part_of = [&](int rank) {
    const auto i = static_cast<std::size_t>(rank);
    return Source{element_of(data.at, begins[i], data.type), begins[i + 1] - begins[i], data.type};
  };
  const MPI_Count own = part_of(me).count;
  Elements parts(own * size, data.type);
  const auto part_from = [&](int rank) { return parts.part(own * rank, own); };
  copy(part_of(me), part_from(me));
  for (int step = 1; step < size; ++step) {
    const int other = (me + step) % size;
    const int from = (me - step + size) % size;
    messages.exchange(part_of(other), other, part_from(from), from);
  }
  for (int rank = 1; rank < size; ++rank) operation.into_right(part_from(rank - 1), part_from(rank));
  copy(part_from(size - 1), {to, own, data.type});
}

// What this rank and those before it have; `all` has that of its whole neighbourhood, which grows.
template <class Combine>
void scan(const Operation& operation, const Target& all, Messages& messages, Combine combine) {
  Elements theirs(all.count, all.type);
  for (int bit = 1; bit < messages.size(); bit *= 2) {
    const int other = messages.rank() ^ bit;
    if (other >= messages.size()) continue;
    messages.exchange(all, other, theirs.all(), other);
    if (other < messages.rank()) {
      combine(theirs.all());
      operation.into_right(theirs.all(), all);
    } else {
      operation.into_left(all, theirs.all());
    }
  }
}

}  // namespace

void make(const tap::collectives::Reduce& call, Messages& messages) {
  if (call.root < 0 || call.root >= messages.size()) check(MPI_ERR_ROOT);
  Elements data(operand(call.from, call.to, call.count, call.type));
  reduce_to(call.root, {call.op, call.type}, data.all(), messages);
  if (messages.rank() == call.root) copy(data.all(), {call.to, call.count, call.type});
}

void make(const tap::collectives::Allreduce& call, Messages& messages) {
  const Target data{call.to, call.count, call.type};
  const Operation operation{call.op, call.type};
  const Fold fold(messages);
  copy(operand(call.from, call.to, call.count, call.type), data);
  fold.begin(operation, data, messages);
  if (!fold.is_left_out()) {
    const bool is_long = bytes_of(call.count, call.type) > kShortData && call.count >= fold.size();
    is_long&& operation.is_commutative() ? reduce_by_halving(fold, operation, data, messages)
                                         : reduce_by_doubling(fold, operation, data, messages);
  }
  fold.end(data, messages);
}

void make(const tap::collectives::Reduce_scatter_block& call, Messages& messages) {
  std::vector<MPI_Count> begins(static_cast<std::size_t>(messages.size()) + 1);
  for (std::size_t i = 0; i < begins.size(); ++i) begins[i] = static_cast<MPI_Count>(i) * call.count;
  reduce_and_scatter({call.op, call.type}, operand(call.from, call.to, begins.back(), call.type), begins, call.to,
                     messages);
}

void make(const tap::collectives::Reduce_scatter& call, Messages& messages) {
  const auto begins = begins_of({call.counts, static_cast<std::size_t>(messages.size())});
  reduce_and_scatter({call.op, call.type}, operand(call.from, call.to, begins.back(), call.type), begins, call.to,
                     messages);
}

// Recursive doubling.
void make(const tap::collectives::Scan& call, Messages& messages) {
  const Operation operation{call.op, call.type};
  const Target result{call.to, call.count, call.type};
  copy(operand(call.from, call.to, call.count, call.type), result);
  Elements all((Source(result)));
  scan(operation, all.all(), messages, [&](const Target& theirs) { operation.into_right(theirs, result); });
}

// The same without this rank's own data. Rank 0 gets nothing.
void make(const tap::collectives::Exscan& call, Messages& messages) {
  const Operation operation{call.op, call.type};
  const Target result{call.to, call.count, call.type};
  Elements all(operand(call.from, call.to, call.count, call.type));
  bool is_first = true;
  scan(operation, all.all(), messages, [&](const Target& theirs) {
    std::exchange(is_first, false) ? copy(theirs, result) : operation.into_right(theirs, result);
  });
}

}  // namespace cairn::collectives
