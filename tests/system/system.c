/* What base/system.h promises, of the file for one system; tests/t/system.t
 * compiles this once for each.  Speaks TAP.
 *
 * What macOS and FreeBSD have and this system lacks is made here of what this
 * system has, by their manuals. */
#include "base/system.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int tests;

static void ok(bool right, const char *what) {
  printf("%sok %d - %s\n", right ? "" : "not ", ++tests, what);
}

/* --- Functions of other systems ------------------------------------------- */

#ifdef __APPLE__
#include <mach-o/dyld.h>

/* A path that is too long gives -1, and the size that it needs. */
int _NSGetExecutablePath(char *path, uint32_t *size) {
  char found[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", found, sizeof found - 1);
  if (n < 0) return -1;
  found[n] = '\0';
  bool fits = (uint32_t)n < *size;
  if (fits) memcpy(path, found, (size_t)n + 1);
  else *size = (uint32_t)n + 1;
  return fits ? 0 : -1;
}
#endif

#ifdef __FreeBSD__
#include <sys/sysctl.h>

/* A path that is too long gives -1 and ENOMEM. */
int sysctl(const int *name, unsigned count, void *old, size_t *size,
           const void *set, size_t set_size) {
  char found[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", found, sizeof found - 1);
  bool asked = count == 4 && name[0] == CTL_KERN && name[1] == KERN_PROC &&
               name[2] == KERN_PROC_PATHNAME && name[3] == -1 && !set &&
               set_size == 0;
  if (n < 0 || !asked || (size_t)n >= *size) return errno = ENOMEM, -1;
  memcpy(old, found, (size_t)n);
  ((char *)old)[n] = '\0';
  *size = (size_t)n + 1;
  return 0;
}
#endif

/* --- Tests ---------------------------------------------------------------- */

static bool closed_by_exec(int file) {
  return fcntl(file, F_GETFD) & FD_CLOEXEC;
}

static void test_pipe(void) {
  int ends[2];
  char read_back[3] = "";
  ok(system_pipe(ends), "a pipe is made");
  ok(closed_by_exec(ends[0]) && closed_by_exec(ends[1]), "exec() closes it");
  ok(write(ends[1], "ab", 2) == 2 && read(ends[0], read_back, 2) == 2 &&
         !strcmp(read_back, "ab"),
     "what is written to it is read");
  close(ends[0]);
  close(ends[1]);
}

static void test_file(void) {
  char read_back[3] = "";
  int file = system_file();
  ok(file >= 0 && closed_by_exec(file), "a file without a name");
  ok(write(file, "ab", 2) == 2 && pread(file, read_back, 2, 0) == 2 &&
         !strcmp(read_back, "ab"),
     "it keeps what is written");
  close(file);
}

static void test_program(const char *own) {
  char path[PATH_MAX], whole[PATH_MAX], short_one[4];
  ok(realpath(own, whole) && system_program(path, sizeof path) &&
         !strcmp(path, whole),
     "the program knows its own path");
  ok(!system_program(short_one, sizeof short_one), "a path that is too long");
}

static volatile sig_atomic_t came;
static void come(int number) { came = number; }

/* The signal is pending before the wait, and is let in by the wait alone. */
static void test_wait(void) {
  int ends[2];
  sigset_t one, before;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  signal(SIGUSR1, come);
  sigprocmask(SIG_BLOCK, &one, &before);
  raise(SIGUSR1);
  if (!system_pipe(ends)) return;
  ok(!came && system_wait(ends[0], &before) < 0 && errno == EINTR && came,
     "a wait lets a signal in, which ends it");
  ok(write(ends[1], "a", 1) == 1 && system_wait(ends[0], &before) > 0,
     "a byte ends a wait");
  sigprocmask(SIG_SETMASK, NULL, &one);
  ok(sigismember(&one, SIGUSR1) == 1, "afterwards the signal is blocked again");
  close(ends[0]);
  close(ends[1]);
}

/* A point in time 20 ms ahead on another clock than the condition variable's
 * would be long over or years away. */
static void test_cond(void) {
  pthread_cond_t cond;
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  struct timespec until, now;
  clockid_t clock = system_cond_init(&cond);
  clock_gettime(clock, &until);
  until.tv_nsec += 20000000;
  if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
  int why = 0;
  pthread_mutex_lock(&lock);
  while (!why) why = pthread_cond_timedwait(&cond, &lock, &until);
  pthread_mutex_unlock(&lock);
  clock_gettime(clock, &now);
  ok(why == ETIMEDOUT &&
         (now.tv_sec > until.tv_sec ||
          (now.tv_sec == until.tv_sec && now.tv_nsec >= until.tv_nsec)),
     "a condition variable waits by its clock");
  pthread_cond_destroy(&cond);
}

static void test_reserve(void) {
  size_t size = (size_t)1 << 32;
  char *room = system_reserve(size);
  ok(room != NULL, "room for 4 GiB");
  if (!room) return;
  room[0] = room[size - 1] = 1;
  ok(room[0] + room[size - 1] == 2 && room[size / 2] == 0,
     "it can be written, and is zero before");
  munmap(room, size);
  ok(system_reserve(SIZE_MAX / 2) == NULL, "too much room is refused");
}

int main(int count, char **args) {
  alarm(60); /* whoever waits for ever, ends */
  test_pipe();
  test_file();
  test_program(args[count - 1]);
  test_wait();
  test_cond();
  test_reserve();
  ok(strstr(SYSTEM_LIBRARY("libzip", "5"), EXPECTED) != NULL,
     "the name of a library's file");
  printf("1..%d\n", tests);
}
