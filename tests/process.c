/* posix_spawn, two pipes and poll.  Everything opened here is close-on-exec, so
 * several threads may run processes at the same time. */
#include "tests/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { CHUNK = 1 << 16, OUTPUT_MAX = 1 << 28 };

/* Appends what a read of `fd` gives; false at the end. */
static bool text_read_some(Text *text, int fd) {
  char *data = realloc(text->data, text->len + CHUNK + 1);
  if (!data) return false;
  text->data = data;
  ssize_t n = read(fd, data + text->len, CHUNK);
  if (n > 0) text->len += (size_t)n;
  data[text->len] = '\0';
  return n > 0;
}

/* Reads both pipes to their ends; false when time or patience runs out. */
static bool capture(Outcome *o, int out, int err, double deadline) {
  struct pollfd fds[] = {{.fd = out, .events = POLLIN},
                         {.fd = err, .events = POLLIN}};
  Text *texts[] = {&o->out, &o->err};
  while (fds[0].fd >= 0 || fds[1].fd >= 0) {
    double left = deadline - clock_seconds();
    if (left <= 0 || o->out.len + o->err.len > OUTPUT_MAX) return false;
    poll(fds, 2, (int)(left * 1000) + 1);
    for (int i = 0; i < 2; i++)
      if (fds[i].revents && !text_read_some(texts[i], fds[i].fd))
        fds[i].fd = -1; /* poll skips it from here on */
  }
  return true;
}

static bool start(pid_t *pid, const char *const argv[], int out, int err) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out, 1);
  posix_spawn_file_actions_adddup2(&files, err, 2);
  int failed =
      posix_spawnp(pid, argv[0], &files, NULL, (char *const *)argv, environ);
  posix_spawn_file_actions_destroy(&files);
  return !failed;
}

static int wait_for(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Outcome process_run(const char *const argv[], double seconds) {
  Outcome o = {.status = STATUS_NOT_STARTED};
  int out[2] = {-1, -1}, err[2] = {-1, -1};
  pid_t pid;
  bool started = !pipe2(out, O_CLOEXEC) && !pipe2(err, O_CLOEXEC) &&
                 start(&pid, argv, out[1], err[1]);
  close(out[1]);
  close(err[1]);
  if (started) {
    bool ended = capture(&o, out[0], err[0], clock_seconds() + seconds);
    if (!ended) kill(pid, SIGKILL);
    o.status = wait_for(pid);
    if (!ended) o.status = STATUS_STOPPED;
  }
  close(out[0]);
  close(err[0]);
  return o;
}

void outcome_free(Outcome *o) {
  text_free(&o->out);
  text_free(&o->err);
}

void text_free(Text *text) {
  free(text->data);
  *text = (Text){0};
}

bool text_read_file(Text *text, const char *path) {
  *text = (Text){0};
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  while (text_read_some(text, fd)) continue;
  close(fd);
  return text->data != NULL;
}

bool text_write_file(const Text *text, const char *path) {
  FILE *f = fopen(path, "we");
  if (!f) return false;
  bool written = fwrite(text->data, 1, text->len, f) == text->len;
  return fclose(f) == 0 && written;
}
