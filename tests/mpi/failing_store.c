// Makes the writes of files fail with EIO, for health.py: those below the directory $FAILING_STORE, while the file
// $FAILING_STORE_NOW is there. For LD_PRELOAD.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int fails(int file) {
  const char* below = getenv("FAILING_STORE");
  const char* now = getenv("FAILING_STORE_NOW");
  char link[64];
  char path[PATH_MAX];
  if (below == NULL || now == NULL || access(now, F_OK) != 0) return 0;
  snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof(path));
  const size_t wanted = strlen(below);
  if (length < (ssize_t)wanted || strncmp(path, below, wanted) != 0) return 0;
  errno = EIO;
  return 1;
}

int fallocate(int file, int mode, off_t offset, off_t length) {
  static int (*next)(int, int, off_t, off_t) = NULL;
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "fallocate");
  return fails(file) ? -1 : next(file, mode, offset, length);
}

ssize_t pwrite(int file, const void* bytes, size_t count, off_t offset) {
  static ssize_t (*next)(int, const void*, size_t, off_t) = NULL;
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "pwrite");
  return fails(file) ? -1 : next(file, bytes, count, offset);
}

int fdatasync(int file) {
  static int (*next)(int) = NULL;
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "fdatasync");
  return fails(file) ? -1 : next(file);
}
