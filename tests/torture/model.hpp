// What Cairn has promised so far, and what may therefore come back. The judge: it uses nothing of the library, and
// knows only what the application was told and what happened to the stores.
//
// A version that was told to be safe at a level comes back, or a newer one does, whatever happens within what that
// level survives. What comes back is one safe point on all ranks, byte for byte. What is beyond a promise may be
// refused, and is never guessed. A start is fresh only where nothing was told to be safe, the chain was ended, or its
// records are lost.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cairn::torture {

// What one rank saw of a restore that went well.
struct Restored {
  bool fresh = true;
  std::uint32_t version = 0;
  std::uint64_t stamp = 0;  // of the state that came back
};

class Model {
 public:
  // A life begins on so many nodes. `copies`, `parity`: what L2 and L3 are to survive.
  void begin_life(std::uint32_t nodes, std::uint32_t copies, std::uint32_t parity);

  // Before a life: a node's store lost a file, or all; the global one likewise.
  void node_is_hurt(std::uint32_t node);
  void global_is_hurt(bool lost);

  // The application is about to take a snapshot of the state of this stamp; the version it was given.
  void tries(std::uint64_t stamp) {
    tried_.insert(stamp);
    must_be_fresh_ = false;
  }
  void takes(std::uint32_t version, std::uint64_t stamp);
  // Some rank was told that this version is safe.
  void is_safe(std::uint32_t level, std::uint32_t version);
  // A finalize that ended the chain went well on all ranks; or on some, or may have.
  void finished(bool for_certain);

  // What may go wrong in a life on purpose: nothing; its end may come at any moment; stores may fail, so that something
  // older comes back.
  enum class Faults { none, deadly, of_stores };
  // What is wrong with a restore, of what ranks saw of it, those that did not fail; and of the text of an error, empty
  // where there was none. Empty: nothing is wrong.
  [[nodiscard]] std::string judge(const std::vector<Restored>& seen, const std::string& error, Faults faults);

  // The newest version that must come back; 0: none.
  [[nodiscard]] std::uint32_t promised() const;

 private:
  struct Promise {
    std::uint32_t version = 0;
    std::uint32_t level = 1;
    std::uint32_t nodes = 0;
    std::uint32_t survives = 0;    // losses of nodes
    std::set<std::uint32_t> hurt;  // since then
    bool global_hurt = false;
  };
  [[nodiscard]] bool holds(const Promise& promise) const;
  void move(Promise& promise) const;
  [[nodiscard]] std::string judge_one(const Restored& seen, Faults faults) const;

  std::uint32_t nodes_ = 0;
  std::uint32_t copies_ = 0;
  std::uint32_t parity_ = 0;
  std::map<std::uint32_t, std::uint64_t> stamps_;  // by version
  std::set<std::uint64_t> tried_;
  std::vector<Promise> promises_;
  bool may_be_fresh_ = true;
  bool must_be_fresh_ = false;
  bool global_was_lost_ = false;
};

}  // namespace cairn::torture
