#include "door/veloc/client.hpp"

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "door/veloc/say.hpp"

namespace cairn::door {
namespace {

void check_name(const std::string& name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
  if (!name.empty() && name.find_first_not_of(kAllowed) == std::string::npos && name != "." && name != "..") return;
  throw Exception(ErrorKind::usage,
                  fmt::format("\"{}\" is no name of a checkpoint: use letters, digits, '_' and '.'", name));
}

void check(const std::string& name, int version) {
  check_name(name);
  if (version < 0)
    throw Exception(ErrorKind::usage, fmt::format("{} is no version of {}: use 0 or more", version, name));
}

void check_target(int target_rank) {
  if (target_rank >= 0)
    throw Exception(ErrorKind::usage, "target_rank is not supported: a rank restores its own checkpoint");
}

}  // namespace

Client::~Client() {
  if (!is_finalized_) finalize(false);
  if (client_of_process() == this) client_of_process() = nullptr;
}

// A call that concerns this rank alone.
bool Client::local(const std::function<void()>& call) const {
  try {
    if (is_finalized_) throw Exception(ErrorKind::usage, "a VELOC call after VELOC_Finalize or MPI_Finalize");
    call();
    return true;
  } catch (const Reported&) {
  } catch (const std::exception& error) {
    say(fmt::format("rank {}: {}", jobs_.meeting().rank(), error.what()));
  } catch (...) {
    say(fmt::format("rank {}: a function of the program has thrown what is no std::exception", jobs_.meeting().rank()));
  }
  return false;
}

// A collective call.
bool Client::together(const std::function<void()>& call) const {
  return local([&] {
    try {
      call();
    } catch (const Reported&) {
      throw;
    } catch (const OfAll& error) {
      jobs_.meeting().report(error.kind(), error.what());
    } catch (const Exception& error) {
      if (!is_of_all(error.kind())) throw;
      if (jobs_.meeting().rank() == 0) say(error.what());
      throw Reported(error.kind(), error.what());
    }
  });
}

void Client::meet(const std::string& call, bool fine) const {
  if (jobs_.meeting().meet(call, {.fine = fine}).all_fine) return;
  if (fine && jobs_.meeting().rank() == 0) say(fmt::format("{} fails, because another rank has failed", call));
  throw Reported(ErrorKind::usage, call);
}

bool Client::finalize(bool drain) {
  const bool ended = together([&] {
    restart_.reset();
    meet("VELOC_Finalize");
    try {
      if (drain) jobs_.wait();
    } catch (const std::exception&) {
      jobs_.finalize();
      throw;
    }
    jobs_.finalize();
  });
  is_finalized_ = true;
  return ended;
}

bool Client::mem_protect(int id, void* ptr, std::size_t count, std::size_t base_size, const std::string& name) {
  return local([&] {
    if (ptr == nullptr && count * base_size != 0)
      throw Exception(ErrorKind::usage, fmt::format("region {} has {} bytes at a null pointer", id, count * base_size));
    groups_.protect(name, id, {.data = ptr, .bytes = count * base_size, .save = {}, .load = {}});
  });
}

bool Client::mem_protect(int id, const serializer_t& s, const deserializer_t& d, const std::string& name) {
  return local([&] {
    if (!s || !d) throw Exception(ErrorKind::usage, fmt::format("a serializer of region {} is empty", id));
    groups_.protect(name, id, {.data = nullptr, .bytes = 0, .save = s, .load = d});
  });
}

bool Client::mem_unprotect(int id, const std::string& name) { return groups_.unprotect(name, id); }

void Client::mem_clear(const std::string& name) { groups_.clear(name); }

bool Client::register_observer(int type, const observer_t& obs) {
  return local([&] {
    if (type != VELOC_OBSERVE_CKPT_END)
      throw Exception(ErrorKind::usage, fmt::format("{} is no type of observer", type));
    observers_[type] = obs;
  });
}

std::string Client::route_file(const std::string& /*original*/) {
  std::string path;
  (void)local([&] {
    if (checkpoint_) {
      path = jobs_.path_to_write(checkpoint_->name(), checkpoint_->version());
      checkpoint_->add_file(path);
    } else if (in_restart_) {
      path = restart_->put_file();
    } else {
      throw Exception(ErrorKind::usage, "a file belongs to a checkpoint: call VELOC_Checkpoint_begin first");
    }
  });
  return path;
}

bool Client::cleanup(const std::string& name) {
  return together([&] {
    check_name(name);
    if (restart_ && restart_->name() == name) {
      in_restart_ = false;
      restart_.reset();
    }
    meet(fmt::format("VELOC_Cleanup(\"{}\")", name));
    jobs_.clean_up(name);
    meet("the end of VELOC_Cleanup");
  });
}

// Ranks that have nothing to save end their checkpoint, too: others wait for them. An error of the last checkpoint,
// which other ranks may not have, does not prevent this one.
bool Client::checkpoint(const std::string& name, int version) {
  const bool last = checkpoint_wait();
  if (!checkpoint_begin(name, version)) return false;
  const bool chosen = checkpoint_mem(VELOC_CKPT_ALL, {});
  return checkpoint_end(chosen) && last;
}

bool Client::checkpoint_begin(const std::string& name, int version) {
  return local([&] {
    check(name, version);
    if (checkpoint_ || in_restart_)
      throw Exception(ErrorKind::usage, fmt::format("checkpoint {} of {} begins before {} has ended", version, name,
                                                    checkpoint_ ? "another one" : "a restart"));
    restart_.reset();
    checkpoint_.emplace(name, version);
  });
}

bool Client::checkpoint_mem(int mode, const std::set<int>& ids) {
  return local([&] {
    if (!checkpoint_) throw Exception(ErrorKind::usage, "call VELOC_Checkpoint_begin before VELOC_Checkpoint_mem");
    checkpoint_->add(groups_.of(checkpoint_->name()), {mode, ids});
  });
}

bool Client::checkpoint_end(bool success) {
  return together([&] {
    if (!checkpoint_) throw Exception(ErrorKind::usage, "call VELOC_Checkpoint_begin before VELOC_Checkpoint_end");
    const Checkpoint ending = *std::move(checkpoint_);
    checkpoint_.reset();
    meet(fmt::format("VELOC_Checkpoint_end of version {} of {}", ending.version(), ending.name()), success);
    jobs_.take(ending.name(), ending.version(), ending.content());
    const auto observer = observers_.find(VELOC_OBSERVE_CKPT_END);
    if (observer != observers_.end()) observer->second(ending.name(), ending.version());
  });
}

bool Client::checkpoint_wait() {
  return together([&] {
    if (checkpoint_) throw Exception(ErrorKind::usage, "call VELOC_Checkpoint_end before VELOC_Checkpoint_wait");
    jobs_.wait();
  });
}

bool Client::checkpoint_finished() {
  bool finished = false;
  return local([&] { finished = jobs_.is_sync() || jobs_.are_finished(); }) && finished;
}

int Client::restart_test(const std::string& name, int version, int target_rank) {
  int found = VELOC_FAILURE;
  (void)together([&] {
    check_target(target_rank);
    check(name, version);
    const std::string call = fmt::format("VELOC_Restart_test(\"{}\", {})", name, version);
    meet(call);
    const int mine = jobs_.open(name).history().highest(version).value_or(VELOC_IGNORED);
    found = jobs_.meeting().meet(call, {.number = mine}).highest;
  });
  return found;
}

// As Restart_begin, Recover_mem and Restart_end, with one verdict: a version that a rank has no room for is offered
// again.
bool Client::restart(const std::string& name, int version, int target_rank) {
  if (!restart_begin(name, version, target_rank)) return false;
  const bool recovered = recover_mem(VELOC_RECOVER_ALL, {});
  return together([&] {
    const std::string call = fmt::format("VELOC_Restart of version {} of {}", version, name);
    if (end_restart(call, recovered)) return;
    if (recovered && jobs_.meeting().rank() == 0) say(fmt::format("{} fails, because another rank has failed", call));
    throw Reported(ErrorKind::usage, call);
  });
}

bool Client::restart_begin(const std::string& name, int version, int target_rank) {
  return together([&] {
    check_target(target_rank);
    check(name, version);
    if (checkpoint_) throw Exception(ErrorKind::usage, "a restart begins before a checkpoint has ended");
    in_restart_ = false;
    restart_.reset();
    const std::string call = fmt::format("VELOC_Restart_begin(\"{}\", {})", name, version);
    meet(call);
    Job& job = jobs_.open(name);
    const StoredVersion* const found = job.history().find(version);
    if (!jobs_.meeting().meet(call, {.fine = found != nullptr}).all_fine) {
      const std::vector<int> known = job.history().versions();
      throw OfAll(ErrorKind::unrecoverable,
                  fmt::format("{} has no version {}; it has {}", name, version,
                              known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
    }
    const StoredVersion stored = *found;
    try {
      restart_.emplace(name, stored, jobs_.path_of(name, version), job.open(version));
    } catch (const Exception& error) {
      jobs_.meeting().report(error.kind(), error.what());
    }
    in_restart_ = true;
  });
}

std::size_t Client::recover_size(int id) {
  std::size_t bytes = 0;
  (void)local([&] {
    if (!in_restart_) throw Exception(ErrorKind::usage, "call VELOC_Restart_begin before VELOC_Recover_size");
    bytes = restart_->bytes_of(id);
  });
  return bytes;
}

bool Client::recover_mem(int mode, const std::set<int>& ids) {
  return local([&] {
    if (!in_restart_) throw Exception(ErrorKind::usage, "call VELOC_Restart_begin before VELOC_Recover_mem");
    restart_->recover(groups_.of(restart_->name()), {mode, ids});
  });
}

// Returns whether all ranks are fine. Collective.
bool Client::end_restart(const std::string& call, bool fine) {
  in_restart_ = false;
  const bool all_fine = jobs_.meeting().meet(call, {.fine = fine}).all_fine;
  if (all_fine) jobs_.open(restart_->name()).continue_from(restart_->open());
  restart_->end();
  return all_fine;
}

bool Client::restart_end(bool success) {
  return together([&] {
    if (!in_restart_) throw Exception(ErrorKind::usage, "call VELOC_Restart_begin before VELOC_Restart_end");
    const std::string call =
        fmt::format("VELOC_Restart_end of version {} of {}", restart_->version(), restart_->name());
    if (end_restart(call, success)) return;
    jobs_.open(restart_->name()).forget(restart_->version());
    throw Reported(ErrorKind::usage, call);
  });
}

Client*& client_of_process() {
  static Client* client = nullptr;
  return client;
}

Client& make_client(MPI_Comm comm, const std::string& config, std::optional<unsigned> id) {
  Client*& client = client_of_process();
  if (client == nullptr) client = new Client(comm, config, id);
  return *client;
}

}  // namespace cairn::door
