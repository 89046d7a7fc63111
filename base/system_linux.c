/* See system.h.  FreeBSD took over from Linux what the first part uses, and
 * reserves memory in another way and has no /proc (system_freebsd.c). */
#include "base/system.h"

#ifndef __APPLE__
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

bool system_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC) == 0; }

int system_file(void) { return memfd_create("rly", MFD_CLOEXEC); }

int system_wait(int file, const sigset_t *mask) {
  struct pollfd wait = {.fd = file, .events = POLLIN};
  return ppoll(&wait, 1, NULL, mask);
}

clockid_t system_cond_init(pthread_cond_t *made) {
  pthread_condattr_t by;
  pthread_condattr_init(&by);
  pthread_condattr_setclock(&by, CLOCK_MONOTONIC);
  pthread_cond_init(made, &by);
  pthread_condattr_destroy(&by);
  return CLOCK_MONOTONIC;
}

#ifndef __FreeBSD__
bool system_program(char *path, size_t size) {
  ssize_t n = readlink("/proc/self/exe", path, size);
  if (n <= 0 || (size_t)n >= size) return false;
  path[n] = '\0';
  return true;
}

void *system_reserve(size_t size) {
  void *at =
      mmap(NULL, size, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  return at == MAP_FAILED ? NULL : at;
}
#endif
#endif
