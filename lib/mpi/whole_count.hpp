// Elements as MPI 3's calls take them: a count that is an int. Of more elements it makes one element of a datatype of
// its own, which calls may still use when this has ended.
#pragma once

#include <mpi.h>

namespace cairn {

class WholeCount {
 public:
  static constexpr MPI_Count kMost = 0x7fffffff;  // of an int

  // `most`: that a call takes.
  WholeCount(MPI_Count count, MPI_Datatype type, MPI_Count most = kMost)
      : count_(static_cast<int>(count)), type_(type) {
    if (count > most) make(count, type, most);
  }
  ~WholeCount() {
    if (own_ != MPI_DATATYPE_NULL) MPI_Type_free(&own_);
  }
  WholeCount(const WholeCount&) = delete;
  WholeCount& operator=(const WholeCount&) = delete;

  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] MPI_Datatype type() const { return type_; }

 private:
  void make(MPI_Count count, MPI_Datatype type, MPI_Count most);

  int count_;
  MPI_Datatype type_;
  MPI_Datatype own_ = MPI_DATATYPE_NULL;
};

}  // namespace cairn
