// While it lives, this thread gives way to others: when it is woken up, it does not take the core from a thread that
// computes, but waits for its turn. Its total share of the processor stays fair. For heads and helpers that share cores
// with the application. Belongs to the thread that made it.
#pragma once

namespace cairn {

class Background {
 public:
  Background();
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

 private:
  int before_;  // the thread's scheduling policy
};

}  // namespace cairn
