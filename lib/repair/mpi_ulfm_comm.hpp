// A UlfmComm over MPI. The communicator is never freed (see Lifeline::add).
#pragma once

#include <mpi.h>

#include "mpi/ulfm_comm.hpp"

namespace cairn {

class MpiUlfmComm final : public UlfmComm {
 public:
  // Null for MPI_COMM_NULL. MPI returns errors on `comm` from now on. Nobody else uses it.
  [[nodiscard]] static Ptr take(MPI_Comm comm);
  // MPI_COMM_NULL for null. Requires: it is one over MPI.
  [[nodiscard]] static MPI_Comm raw(const Ptr& comm);

  [[nodiscard]] std::uint32_t rank() const override { return rank_; }
  [[nodiscard]] std::uint32_t size() const override { return size_; }
  void let_news_come() override;
  void wait_for_news() override;
  [[nodiscard]] std::vector<std::uint32_t> failed_members() const override;
  [[nodiscard]] bool is_revoked() const override;
  void revoke() override;
  void notify(std::uint32_t member) override;
  [[nodiscard]] bool receive_notice(std::uint32_t from) override;
  [[nodiscard]] Result<Agreed> agree(int word, const Meanwhile& meanwhile) override;
  [[nodiscard]] Result<Ptr> shrink() override;
  [[nodiscard]] Status gather(Bytes mine, MutableBytes all) override;
  [[nodiscard]] Result<Buffer> broadcast(Bytes mine) override;
  [[nodiscard]] Result<Ptr> split(bool in, std::uint32_t key) override;
  [[nodiscard]] Result<Ptr> grow(const NewProcesses& what) override;

 private:
  explicit MpiUlfmComm(MPI_Comm comm);

  MPI_Comm comm_;
  std::uint32_t rank_;
  std::uint32_t size_;
};

}  // namespace cairn
