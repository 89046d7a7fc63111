/* Commands of the shell's that rly opt runs: passes of --exec, which map a text
 * on stdin to one on stdout, and the question of --reduce.
 *
 * A command is a process group of its own, so that what it started ends with
 * it.  It may use as much memory and processor time as the command line allows
 * this process, and ends with the time limit.  Texts go to it and come from it
 * at once, in turns of poll(2): a command that writes before it has read
 * everything does not wait for us, nor we for it.  RLY_REWRITES tells a command
 * how many rewrites it may make at most, where --bisect bounds them. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "repl/opt.h"

enum { TOLD_MAX = 4096 }; /* bytes of stderr that a message repeats */

typedef struct Pipe {
  int read, write;
} Pipe;

typedef struct Exec {
  pid_t pid;
  int in, out, err; /* our ends; -1: closed */
  const char *text; /* still to be written */
  size_t len;
  StrBuf *made;
  StrBuf told;
  double end; /* of the monotonic clock; 0: never */
  bool late;
} Exec;

static void close_end(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

/* Close-on-exec, so no command holds another's pipes. */
static bool open_pipe(Pipe *p) {
  int fd[2];
  *p = (Pipe){-1, -1};
  if (!system_pipe(fd)) return false;
  *p = (Pipe){fd[0], fd[1]};
  return true;
}

static void bound(int resource, double most) {
  struct rlimit limit;
  if (!(most > 0) || most > 1e15 || getrlimit(resource, &limit) != 0) return;
  rlim_t wanted = (rlim_t)most;
  if (limit.rlim_cur == RLIM_INFINITY || wanted < limit.rlim_cur)
    limit.rlim_cur = wanted;
  setrlimit(resource, &limit);
}

/* In the child. */
static void become(const Host *h, const char *command, int in, int out, int err,
                   uint64_t most_rewrites) {
  setpgid(0, 0);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGXFSZ, SIG_DFL);
  if (most_rewrites != UINT64_MAX) {
    char number[24];
    snprintf(number, sizeof number, "%" PRIu64, most_rewrites);
    setenv("RLY_REWRITES", number, 1);
  }
  if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(127);
  /* Last: this process may hold more than the command is to have. */
  bound(RLIMIT_CPU, ceil(h->cli->limits.timeout));
  /* A program of the address sanitizer reserves terabytes of addresses. */
  if (!SANITIZER_ADDRESS && !SANITIZER_THREAD)
    bound(RLIMIT_AS, (double)h->max_memory);
  execl("/bin/sh", "sh", "-c", command, (char *)NULL);
  _exit(127);
}

/* x->end: after so many seconds, or the command line's limit. */
static bool start(const Host *h, const char *command, uint64_t most_rewrites,
                  double seconds, Exec *x) {
  Pipe in, out, err;
  bool open = open_pipe(&in);
  open = open_pipe(&out) && open;
  open = open_pipe(&err) && open;
  fflush(stdout);
  x->pid = open ? fork() : -1;
  if (x->pid == 0)
    become(h, command, in.read, out.write, err.write, most_rewrites);
  if (x->pid > 0) setpgid(x->pid, x->pid); /* whichever of the two is first */
  close_end(&in.read);
  close_end(&out.write);
  close_end(&err.write);
  x->in = in.write;
  x->out = out.read;
  x->err = err.read;
  if (x->in >= 0) fcntl(x->in, F_SETFL, O_NONBLOCK);
  double timeout = h->cli->limits.timeout;
  if (seconds > 0 && !(timeout > 0 && timeout < seconds)) timeout = seconds;
  x->end = timeout > 0 ? clock_seconds() + timeout : 0;
  return x->pid > 0;
}

/* A command may end without having read all: that is its own affair. */
static void feed(Exec *x) {
  ssize_t n = write(x->in, x->text, x->len);
  if (n > 0) {
    x->text += n;
    x->len -= (size_t)n;
  }
  if (x->len == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
    close_end(&x->in);
}

static void take(int *fd, StrBuf *to, size_t most) {
  char bytes[65536];
  ssize_t n = read(*fd, bytes, sizeof bytes);
  if (n < 0 && errno == EINTR) return;
  if (n <= 0) close_end(fd);
  else if (to && to->len < most) strbuf_add_len(to, bytes, (size_t)n);
}

/* Until it has closed its output, or its time is over. */
static void talk(Exec *x) {
  if (x->len == 0) close_end(&x->in);
  while (x->out >= 0 || x->err >= 0) {
    struct pollfd ends[] = {{.fd = x->in, .events = POLLOUT},
                            {.fd = x->out, .events = POLLIN},
                            {.fd = x->err, .events = POLLIN}};
    double left = x->end ? x->end - clock_seconds() : 1;
    if (x->made && mem_exhausted(x->made->mem)) left = 0;
    x->late = x->end && left <= 0;
    if (left <= 0) break;
    int ready = poll(ends, 3, x->end ? (int)(fmin(left, 1) * 1000) + 1 : 1000);
    if (ready < 0 && errno != EINTR) break;
    if (ready <= 0) continue;
    if (ends[0].revents) feed(x);
    if (ends[1].revents) take(&x->out, x->made, SIZE_MAX);
    if (ends[2].revents) take(&x->err, &x->told, TOLD_MAX);
  }
  close_end(&x->in);
  close_end(&x->out);
  close_end(&x->err);
}

/* Its status as of waitpid(2).  What it left running ends, too: as long as it
 * is not waited for, its number and that of its group are its own. */
static int finish(Exec *x) {
  int status = -1;
  siginfo_t info;
  if (x->late) kill(-x->pid, SIGKILL);
  while (waitid(P_PID, (id_t)x->pid, &info, WEXITED | WNOWAIT) < 0 &&
         errno == EINTR) {
  }
  kill(-x->pid, SIGKILL);
  while (waitpid(x->pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

Diag *exec_late(Host *h, const char *command) {
  return diag_error(h->program->ir->diags, E0703, SPAN_NONE,
                    "time limit of %g s reached: `%s` did not end",
                    h->cli->limits.timeout, command);
}

static void report(Host *h, const char *command, const Exec *x, int status) {
  Diags *diags = h->program->ir->diags;
  Diag *d;
  if (x->late) d = exec_late(h, command);
  else if (WIFSIGNALED(status))
    d = diag_error(diags, E0520, SPAN_NONE, "`%s` was ended by %s", command,
                   strsignal(WTERMSIG(status)));
  else
    d = diag_error(diags, E0520, SPAN_NONE, "`%s` ended with status %d",
                   command, WEXITSTATUS(status));
  size_t len = x->told.len < TOLD_MAX ? x->told.len : TOLD_MAX;
  while (len > 0 && strbuf_text(&x->told)[len - 1] == '\n') len--;
  if (len > 0)
    diag_note(d, SPAN_NONE, "it said: %.*s", (int)len, strbuf_text(&x->told));
}

bool exec_filter(Host *h, const char *command, const char *text, size_t len,
                 uint64_t most_rewrites, StrBuf *out) {
  Exec x = {.text = text, .len = len, .made = out};
  strbuf_init(&x.told, out->mem);
  if (!start(h, command, most_rewrites, 0, &x)) {
    diag_error(h->program->ir->diags, E0520, SPAN_NONE,
               "`%s` could not be started: %s", command, strerror(errno));
    strbuf_done(&x.told);
    return false;
  }
  talk(&x);
  int status = finish(&x);
  bool ok = !x.late && WIFEXITED(status) && WEXITSTATUS(status) == 0 &&
            !mem_exhausted(out->mem);
  if (!ok) report(h, command, &x, status);
  else fputs(strbuf_text(&x.told), stderr);
  strbuf_done(&x.told);
  return ok;
}

int exec_status(Host *h, const char *command, double seconds) {
  Exec x = {.text = ""};
  strbuf_init(&x.told, h->program->mem);
  int status = EXEC_FAILED;
  if (start(h, command, UINT64_MAX, seconds, &x)) {
    talk(&x);
    int ended = finish(&x);
    if (x.late) status = EXEC_LATE;
    else if (WIFEXITED(ended)) status = WEXITSTATUS(ended);
  }
  strbuf_done(&x.told);
  return status;
}
