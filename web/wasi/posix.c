/* What wasi-libc lacks (the headers beside it): paths, copies of descriptors,
 * and the refusal of all that a module has not. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- Paths ---------------------------------------------------------------- */

/* WASI has no working folder; the host says in a variable which it is. */
__attribute__((constructor)) static void enter_folder(void) {
  const char *folder = getenv("PWD");
  if (folder) chdir(folder);
}

/* Takes the last name away; the root stays. */
static void up(char *path) {
  char *slash = strrchr(path, '/');
  slash[slash == path] = 0;
}

/* Adds a name to what stands in `path`; false: there is no room. */
static int down(char *path, const char *name, size_t len) {
  size_t had = strlen(path);
  int slash = path[had - 1] != '/';
  if (had + (size_t)slash + len >= PATH_MAX) return 0;
  if (slash) path[had++] = '/';
  memcpy(path + had, name, len);
  path[had + len] = 0;
  return 1;
}

/* Puts what a link says in the place of the name that was added last; `rest` is
 * what follows it. */
static int follow(char *path, char *rest, int *links) {
  char said[PATH_MAX];
  ssize_t len = readlink(path, said, sizeof said - 1);
  if (len < 0) return 0;
  said[len] = 0;
  size_t left = strlen(rest);
  if (++*links > 40) return errno = ELOOP, 0;
  if ((size_t)len + 1 + left >= PATH_MAX) return errno = ENAMETOOLONG, 0;
  memmove(rest + len + 1, rest, left + 1);
  memcpy(rest, said, (size_t)len);
  rest[len] = '/';
  if (*said == '/') strcpy(path, "/");
  else up(path);
  return 1;
}

char *realpath(const char *path, char *resolved) {
  char at[PATH_MAX] = "/", rest[2 * PATH_MAX];
  int links = 0;
  if (!*path) return errno = ENOENT, NULL;
  if (strlen(path) >= PATH_MAX) return errno = ENAMETOOLONG, NULL;
  if (*path != '/' && !getcwd(at, sizeof at)) return NULL;
  strcpy(rest, path);
  while (*rest) {
    size_t skip = strspn(rest, "/");
    memmove(rest, rest + skip, strlen(rest + skip) + 1);
    size_t len = strcspn(rest, "/");
    if (!len) break;
    char name[PATH_MAX];
    if (len >= sizeof name) return errno = ENAMETOOLONG, NULL;
    memcpy(name, rest, len);
    name[len] = 0;
    memmove(rest, rest + len, strlen(rest + len) + 1);
    if (!strcmp(name, ".")) continue;
    if (!strcmp(name, "..")) {
      up(at);
      continue;
    }
    struct stat is;
    if (!down(at, name, len)) return errno = ENAMETOOLONG, NULL;
    if (lstat(at, &is)) return NULL;
    if (S_ISLNK(is.st_mode) && !follow(at, rest, &links)) return NULL;
  }
  return resolved ? strcpy(resolved, at) : strdup(at);
}

/* --- New files ------------------------------------------------------------ */

/* Sixes of `path`, which end `suffix` bytes before its end, become a name that
 * is no file's yet. */
int mkstemps(char *path, int suffix) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
  char *at = path + strlen(path) - suffix - 6;
  for (int tries = 0; tries < 100; tries++) {
    unsigned char draw[6];
    if (getentropy(draw, sizeof draw)) return -1;
    for (size_t i = 0; i < sizeof draw; i++) at[i] = letters[draw[i] % 32];
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

int mkstemp(char *path) { return mkstemps(path, 0); }

/* The name goes, the file stays until it is closed. */
FILE *web_tmpfile(void) {
  char path[] = "/tmp/rlyXXXXXX";
  int fd = mkstemp(path);
  FILE *f = fd < 0 ? NULL : fdopen(fd, "w+");
  if (fd >= 0) unlink(path);
  return f;
}

/* Files have no modes here. */
int fchmod(int fd, mode_t mode) {
  (void)fd, (void)mode;
  return 0;
}

int madvise(void *at, size_t size, int advice) {
  (void)at, (void)size, (void)advice;
  return 0;
}

/* Nobody else writes the module's files. */
int flock(int fd, int how) {
  (void)fd, (void)how;
  return 0;
}

/* --- Stack protectors ----------------------------------------------------- */

/* Debian's compiler-rt for WebAssembly was built with stack protectors, which
 * wasi-libc has no part of. */
uintptr_t __stack_chk_guard = 0x2ff0a;

_Noreturn void __stack_chk_fail(void) { abort(); }

/* --- Signals: none comes, but raise() works ------------------------------- */

/* One that is told more of a signal is never called. */
int sigaction(int number, const struct sigaction *now, struct sigaction *was) {
  if (now && now->sa_flags & SA_SIGINFO) return 0;
  void (*before)(int) =
      now ? signal(number, now->sa_handler) : signal(number, SIG_DFL);
  if (!now) signal(number, before);
  if (was) *was = (struct sigaction){.sa_handler = before};
  return 0;
}

int sigemptyset(sigset_t *set) {
  *set = (sigset_t){0};
  return 0;
}

int sigaddset(sigset_t *set, int number) {
  (void)set, (void)number;
  return 0;
}

int sigdelset(sigset_t *set, int number) { return sigaddset(set, number); }

int sigprocmask(int how, const sigset_t *now, sigset_t *was) {
  (void)how, (void)now;
  if (was) sigemptyset(was);
  return 0;
}

int ppoll(struct pollfd *of, nfds_t count, const struct timespec *longest,
          const sigset_t *mask) {
  (void)mask;
  return poll(of, count,
              longest
                  ? (int)(longest->tv_sec * 1000 + longest->tv_nsec / 1000000)
                  : -1);
}

/* --- What a module has not ------------------------------------------------ */

static int refuse(void) {
  errno = ENOSYS;
  return -1;
}

int dup(int fd) { return (void)fd, refuse(); }
int dup2(int from, int to) { return (void)from, (void)to, refuse(); }
int pipe2(int fd[2], int flags) { return (void)fd, (void)flags, refuse(); }

int memfd_create(const char *name, unsigned flags) {
  return (void)name, (void)flags, refuse();
}

int web_symlink(const char *to, const char *from) {
  return (void)to, (void)from, refuse();
}

char *mkdtemp(char *path) { return (void)path, (void)refuse(), NULL; }
pid_t fork(void) { return refuse(); }
int system(const char *command) { return (void)command, refuse(); }

int execl(const char *path, const char *word, ...) {
  return (void)path, (void)word, refuse();
}

pid_t waitpid(pid_t process, int *status, int options) {
  return (void)process, (void)status, (void)options, refuse();
}

int waitid(int of, id_t id, siginfo_t *info, int options) {
  return (void)of, (void)id, (void)info, (void)options, refuse();
}

int setpgid(pid_t process, pid_t group) {
  return (void)process, (void)group, refuse();
}

int kill(pid_t process, int number) {
  return (void)process, (void)number, refuse();
}

int getrlimit(int resource, struct rlimit *limit) {
  return (void)resource, (void)limit, refuse();
}

int setrlimit(int resource, const struct rlimit *limit) {
  return (void)resource, (void)limit, refuse();
}

void *dlopen(const char *path, int flags) {
  return (void)path, (void)flags, NULL;
}

void *dlsym(void *library, const char *name) {
  return (void)library, (void)name, NULL;
}

int dlclose(void *library) { return (void)library, refuse(); }
char *dlerror(void) { return "WebAssembly loads no code"; }
