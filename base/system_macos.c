/* See system.h: macOS. */
#include "base/system.h"

#ifdef __APPLE__
#include <fcntl.h>
#include <mach-o/dyld.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <unistd.h>

/* A fork() between the two steps, in another thread, would let a child keep the
 * ends; there is no pipe2(). */
bool system_pipe(int ends[2]) {
  if (pipe(ends) != 0) return false;
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  fcntl(ends[1], F_SETFD, FD_CLOEXEC);
  return true;
}

int system_file(void) {
  char path[] = "/tmp/rly.XXXXXX";
  int file = mkstemp(path);
  if (file < 0) return -1;
  unlink(path);
  fcntl(file, F_SETFD, FD_CLOEXEC);
  return file;
}

bool system_program(char *path, size_t size) {
  uint32_t room = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
  return _NSGetExecutablePath(path, &room) == 0;
}

/* There is no ppoll(), and poll() does not know terminals. */
int system_wait(int file, const sigset_t *mask) {
  if (file >= FD_SETSIZE) return -1;
  fd_set files;
  FD_ZERO(&files);
  FD_SET(file, &files);
  return pselect(file + 1, &files, NULL, NULL, NULL, mask);
}

/* Condition variables know the clock of the day alone. */
clockid_t system_cond_init(pthread_cond_t *made) {
  pthread_cond_init(made, NULL);
  return CLOCK_REALTIME;
}

void *system_reserve(size_t size) {
  void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? NULL : at;
}
#endif
