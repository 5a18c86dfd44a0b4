// Who is told which call of the session a rank is in, so that others can see it while the rank waits there. One thread.
// Local.
#pragma once

#include "format/call_record.hpp"

namespace cairn {

class CallWatcher {
 public:
  virtual ~CallWatcher() = default;
  // `another`: the application makes a further call of this kind; else it continues one that has begun.
  virtual void call_begins(CairnCall call, bool another) = 0;
  virtual void call_ends() = 0;
};

// A call, from its begin to its end.
class WatchedCall {
 public:
  WatchedCall(CallWatcher* watcher, CairnCall call, bool another = true) : watcher_(watcher) {
    if (watcher_ != nullptr) watcher_->call_begins(call, another);
  }
  ~WatchedCall() {
    if (watcher_ != nullptr) watcher_->call_ends();
  }
  WatchedCall(const WatchedCall&) = delete;
  WatchedCall& operator=(const WatchedCall&) = delete;

 private:
  CallWatcher* watcher_;
};

}  // namespace cairn
