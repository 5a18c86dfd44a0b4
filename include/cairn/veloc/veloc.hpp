// The C++ interface of VELOC 1.8, served by Cairn. veloc.h describes the calls; here, they return true or false.
#ifndef CAIRN_VELOC_HPP
#define CAIRN_VELOC_HPP

#include <cstddef>
#include <functional>
#include <iostream>
#include <map>
#include <set>
#include <string>

#include <mpi.h>

#include "veloc/defs.h"

namespace veloc {

// The calls of a process. Deleting the client ends the use of Cairn, as VELOC_Finalize does.
class client_t {
 protected:
  static constexpr const char* default_mem_group = "";  // regions of all checkpoints without regions of their own
  using serializer_t = std::function<void(std::ostream&)>;
  using deserializer_t = std::function<bool(std::istream&)>;
  using observer_t = std::function<void(const std::string& name, int version)>;

 public:
  virtual bool mem_protect(int id, void* ptr, std::size_t count, std::size_t base_size,
                           const std::string& name = default_mem_group) = 0;
  // Protects what is no plain memory: `s` writes it in checkpoint_mem(), `d` reads it in recover_mem() and returns
  // whether it could.
  virtual bool mem_protect(int id, const serializer_t& s, const deserializer_t& d,
                           const std::string& name = default_mem_group) = 0;
  virtual bool mem_unprotect(int id, const std::string& name = default_mem_group) = 0;
  virtual void mem_clear(const std::string& name = default_mem_group) = 0;
  // Calls `obs` when a checkpoint has been taken. The only type is VELOC_OBSERVE_CKPT_END.
  virtual bool register_observer(int type, const observer_t& obs) = 0;

  virtual std::string route_file(const std::string& original) = 0;
  virtual bool cleanup(const std::string& name) = 0;

  virtual bool checkpoint(const std::string& name, int version) = 0;
  virtual bool checkpoint_begin(const std::string& name, int version) = 0;
  virtual bool checkpoint_mem(int mode, const std::set<int>& ids) = 0;
  virtual bool checkpoint_end(bool success) = 0;
  virtual bool checkpoint_wait() = 0;
  virtual bool checkpoint_finished() = 0;
  virtual bool backend_ready() = 0;

  // A `target_rank` is refused.
  virtual int restart_test(const std::string& name, int version, int target_rank = -1) = 0;
  virtual bool restart(const std::string& name, int version, int target_rank = -1) = 0;
  virtual bool restart_begin(const std::string& name, int version, int target_rank = -1) = 0;
  virtual std::size_t recover_size(int id) = 0;
  virtual bool recover_mem(int mode, const std::set<int>& ids) = 0;
  virtual bool restart_end(bool success) = 0;

  virtual ~client_t() = 0;
};

// Returns the client of this process, as VELOC_Init_single and VELOC_Init make it. A process has one: later calls
// return it, whatever their arguments. Throws std::runtime_error.
client_t* get_client(unsigned int id, const std::string& cfg_file);
client_t* get_client(MPI_Comm comm, const std::string& cfg_file);

}  // namespace veloc

#endif
