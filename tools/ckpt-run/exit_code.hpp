// How ckpt-run ends.
#pragma once

namespace ckpt_run {

enum ExitCode : int {
  kFinished = 0,
  kGaveUp = 1,
  kUnusable = 2,  // wrong arguments, a wrong configuration, no launcher
  kInterrupted = 130,
};

}  // namespace ckpt_run
