#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "intercept/next.hpp"

namespace cairn::tap {

void* next_of(const char* name) {
  if (void* const found = ::dlsym(RTLD_NEXT, name)) return found;
  std::fprintf(
      stderr,
      "cairn: error: the MPI library has no %s that Cairn can call: link the application with a shared MPI library\n",
      name);
  std::abort();
}

}  // namespace cairn::tap
