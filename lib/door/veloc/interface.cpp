// The functions that programs call.
#include <cstring>
#include <exception>
#include <set>
#include <string>

#include <cairn/veloc/veloc.h>
#include <cairn/veloc/veloc.hpp>

#include "door/veloc/client.hpp"
#include "door/veloc/meeting.hpp"
#include "door/veloc/own_mpi.hpp"
#include "door/veloc/say.hpp"

namespace {

using cairn::door::Client;
using cairn::door::client_of_process;
using cairn::door::make_client;

int code(bool good) { return good ? VELOC_SUCCESS : VELOC_FAILURE; }

// A text that is no text is an empty one, which is no name.
std::string text(const char* given) { return given == nullptr ? std::string() : std::string(given); }

Client* client() {
  if (client_of_process() == nullptr) cairn::door::say("a VELOC call before VELOC_Init, or after VELOC_Finalize");
  return client_of_process();
}

// Calls a member that returns a bool.
template <class Call>
int call(Call function) {
  Client* const mine = client();
  return code(mine != nullptr && function(*mine));
}

template <class Make>
int init(Make make) {
  try {
    make();
    return VELOC_SUCCESS;
  } catch (const cairn::door::Reported&) {
    return VELOC_FAILURE;
  } catch (const std::exception& error) {
    cairn::door::say(std::string("VELOC_Init: ") + error.what());
    return VELOC_FAILURE;
  }
}

std::set<int> set_of(const int* ids, int count) {
  return ids == nullptr || count <= 0 ? std::set<int>() : std::set<int>(ids, ids + count);
}

}  // namespace

namespace veloc {

client_t::~client_t() = default;

client_t* get_client(MPI_Comm comm, const std::string& cfg_file) { return &make_client(comm, cfg_file, {}); }

client_t* get_client(unsigned int id, const std::string& cfg_file) {
  cairn::door::begin_own_mpi();
  return &make_client(MPI_COMM_SELF, cfg_file, id);
}

}  // namespace veloc

int VELOC_Init(MPI_Comm comm, const char* cfg_file) {
  return init([&] { (void)veloc::get_client(comm, text(cfg_file)); });
}

int VELOC_Init_single(unsigned int id, const char* cfg_file) {
  return init([&] { (void)veloc::get_client(id, text(cfg_file)); });
}

int VELOC_Finalize(int drain) {
  Client* const mine = client();
  if (mine == nullptr) return VELOC_FAILURE;
  const bool good = mine->finalize(drain != 0);
  delete mine;
  return code(good);
}

int VELOC_Mem_protect(int id, void* ptr, size_t count, size_t base_size) {
  return call([&](Client& c) { return c.mem_protect(id, ptr, count, base_size, ""); });
}

int VELOC_Mem_unprotect(int id) {
  return call([&](Client& c) { return c.mem_unprotect(id, ""); });
}

int VELOC_Mem_clear() {
  return call([&](Client& c) { return c.mem_clear(""), true; });
}

int VELOC_Region_protect(int id, void* ptr, size_t count, size_t base_size, const char* name) {
  return call([&](Client& c) { return c.mem_protect(id, ptr, count, base_size, text(name)); });
}

int VELOC_Region_unprotect(int id, const char* name) {
  return call([&](Client& c) { return c.mem_unprotect(id, text(name)); });
}

int VELOC_Region_clear(const char* name) {
  return call([&](Client& c) { return c.mem_clear(text(name)), true; });
}

int VELOC_Route_file(const char* original, char* routed) {
  if (routed == nullptr) return VELOC_FAILURE;
  routed[0] = '\0';
  return call([&](Client& c) {
    const std::string path = c.route_file(text(original));
    if (path.empty()) return false;
    if (path.size() >= VELOC_MAX_NAME) {
      cairn::door::say("the path of a file is longer than VELOC_MAX_NAME: choose a shorter scratch directory");
      return false;
    }
    std::memcpy(routed, path.c_str(), path.size() + 1);
    return true;
  });
}

int VELOC_Checkpoint_begin(const char* name, int version) {
  return call([&](Client& c) { return c.checkpoint_begin(text(name), version); });
}

int VELOC_Checkpoint_selective(int mode, int* ids, int id_count) {
  return call([&](Client& c) { return c.checkpoint_mem(mode, set_of(ids, id_count)); });
}

int VELOC_Checkpoint_mem() { return VELOC_Checkpoint_selective(VELOC_CKPT_ALL, nullptr, 0); }

int VELOC_Checkpoint_end(int success) {
  return call([&](Client& c) { return c.checkpoint_end(success != 0); });
}

int VELOC_Checkpoint_wait() {
  return call([&](Client& c) { return c.checkpoint_wait(); });
}

int VELOC_Checkpoint_finished() {
  Client* const mine = client();
  return mine == nullptr ? VELOC_FAILURE : (mine->checkpoint_finished() ? 1 : 0);
}

int VELOC_Backend_ready() { return VELOC_Checkpoint_finished(); }

int VELOC_Checkpoint(const char* name, int version) {
  return call([&](Client& c) { return c.checkpoint(text(name), version); });
}

int VELOC_Restart_test(const char* name, int version) {
  Client* const mine = client();
  return mine == nullptr ? VELOC_FAILURE : mine->restart_test(text(name), version, -1);
}

int VELOC_Restart_begin(const char* name, int version) {
  return call([&](Client& c) { return c.restart_begin(text(name), version, -1); });
}

int VELOC_Recover_selective(int mode, int* ids, int id_count) {
  return call([&](Client& c) { return c.recover_mem(mode, set_of(ids, id_count)); });
}

int VELOC_Recover_mem() { return VELOC_Recover_selective(VELOC_RECOVER_ALL, nullptr, 0); }

int VELOC_Recover_size(int id) {
  Client* const mine = client();
  return mine == nullptr ? VELOC_FAILURE : static_cast<int>(mine->recover_size(id));
}

int VELOC_Restart_end(int success) {
  return call([&](Client& c) { return c.restart_end(success != 0); });
}

int VELOC_Restart(const char* name, int version) {
  return call([&](Client& c) { return c.restart(text(name), version, -1); });
}

int VELOC_Cleanup(const char* name) {
  return call([&](Client& c) { return c.cleanup(text(name)); });
}
