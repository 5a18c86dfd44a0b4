// VELOC's calls over Cairn's. Each call turns errors into a line and a code.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include <cairn/veloc/veloc.hpp>

#include "door/veloc/checkpoint.hpp"
#include "door/veloc/jobs.hpp"
#include "door/veloc/memory.hpp"
#include "door/veloc/restart.hpp"

namespace cairn::door {

class Client final : public ::veloc::client_t {
 public:
  // As Jobs. Collective. Throws: cairn::Exception.
  Client(MPI_Comm comm, const std::string& config, std::optional<unsigned> id)
      : jobs_(comm, config, id, [this] { finalize(false); }) {}
  ~Client() override;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Ends the use of Cairn. `drain`: an error of background work counts. Collective.
  bool finalize(bool drain);

  bool mem_protect(int id, void* ptr, std::size_t count, std::size_t base_size, const std::string& name) override;
  bool mem_protect(int id, const serializer_t& s, const deserializer_t& d, const std::string& name) override;
  bool mem_unprotect(int id, const std::string& name) override;
  void mem_clear(const std::string& name) override;
  bool register_observer(int type, const observer_t& obs) override;

  std::string route_file(const std::string& original) override;
  bool cleanup(const std::string& name) override;

  bool checkpoint(const std::string& name, int version) override;
  bool checkpoint_begin(const std::string& name, int version) override;
  bool checkpoint_mem(int mode, const std::set<int>& ids) override;
  bool checkpoint_end(bool success) override;
  bool checkpoint_wait() override;
  bool checkpoint_finished() override;
  bool backend_ready() override { return checkpoint_finished(); }

  int restart_test(const std::string& name, int version, int target_rank) override;
  bool restart(const std::string& name, int version, int target_rank) override;
  bool restart_begin(const std::string& name, int version, int target_rank) override;
  std::size_t recover_size(int id) override;
  bool recover_mem(int mode, const std::set<int>& ids) override;
  bool restart_end(bool success) override;

 private:
  bool local(const std::function<void()>& call) const;
  bool together(const std::function<void()>& call) const;
  void meet(const std::string& call, bool fine = true) const;
  bool end_restart(const std::string& call, bool fine);

  Jobs jobs_;
  Groups groups_;
  std::map<int, observer_t> observers_;
  std::optional<Checkpoint> checkpoint_;
  std::optional<Restart> restart_;
  bool in_restart_ = false;  // the last restart's file stays until the next call that begins something
  bool is_finalized_ = false;
};

// That of this process; null: there is none.
[[nodiscard]] Client*& client_of_process();
// Makes it, unless there is one. Throws: cairn::Exception.
Client& make_client(MPI_Comm comm, const std::string& config, std::optional<unsigned> id);

}  // namespace cairn::door
