/* Runs the commands and prompt entries of a page as a reader would: in a shell,
 * in a folder that looks like the one where the tests run.  It is a new one,
 * with a link to each thing in that one, so that files which a page writes do
 * not stay.
 *
 * A command runs in a shell with stderr joined to stdout and stdin empty.
 * Entries of the prompt are written to a file that becomes the stdin of `rly
 * repl`.  `rly` is this very program, because its folder is put in front of
 * PATH.
 *
 * What a page says is executed with the user's rights.  So the caller asks
 * first whether that was wanted (--shell, and not --safe). */
#include "repl/test_console.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/inside.h"
#include "repl/user.h"

/* Puts this program's folder first in PATH.  Returns false on failure.  Once
 * only: a PATH that begins with the folder is left as it is. */
static bool find_ourselves(void) {
  char self[USER_PATH_MAX];
  if (!own_folder(self)) return false;
  const char *path = getenv("PATH");
  size_t len = strlen(path ? path : "");
  if (path && !strncmp(path, self, strlen(self))) return true;
  char *longer = malloc(strlen(self) + len + 2);
  if (!longer) return false;
  sprintf(longer, "%s:%s", self, path ? path : "");
  bool ok = setenv("PATH", longer, 1) == 0;
  free(longer);
  return ok;
}

/* --- A command and its processes -------------------------------------------
 *
 * The shell and what it starts are one process group, which ends as a whole: at
 * the limit of time, when they print too much, and when rly itself is told to
 * end, for a key pressed at the terminal reaches the group of rly alone. */

enum { OUTPUT_MAX = 64 << 20 }; /* bytes that a command may print */

static volatile sig_atomic_t group; /* of the command that runs; 0: none */
/* The signal that is to end rly; 0: none.  The handler writes to `wakes`, for
 * whoever waits for output. */
static volatile sig_atomic_t ended_by;
static int wakes;

/* Ends the command's processes.  The rest is output_of()'s: a handler may not
 * start the program that removes the folder. */
static void on_end(int signal_number) {
  int before = errno;
  if (group) kill(-group, SIGKILL);
  ended_by = signal_number;
  ssize_t written = write(wakes, "", 1);
  (void)written;
  errno = before;
}

static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
enum { END_COUNT = sizeof ends / sizeof *ends };

static void watch_ends(struct sigaction before[END_COUNT]) {
  struct sigaction action = {.sa_handler = on_end};
  for (int i = 0; i < END_COUNT; i++) sigaction(ends[i], &action, &before[i]);
}

static void unwatch_ends(const struct sigaction before[END_COUNT]) {
  for (int i = 0; i < END_COUNT; i++) sigaction(ends[i], &before[i], NULL);
}

/* In the child: becomes the shell. */
static _Noreturn void become_shell(const char *folder, const char *line,
                                   int out) {
  setpgid(0, 0);
  if (chdir(folder)) _exit(127);
  dup2(out, STDOUT_FILENO);
  execl("/bin/sh", "sh", "-c", line, (char *)NULL);
  _exit(127);
}

/* Is there something to read, or the end, before the time is up or a signal
 * ends rly?  Without a limit `until` is 0. */
static bool wait_for_output(int in, int woken, double until) {
  for (;;) {
    double left = until > 0 ? until - clock_seconds() : 0;
    if (until > 0 && left <= 0) return false;
    struct pollfd fds[] = {{.fd = in, .events = POLLIN},
                           {.fd = woken, .events = POLLIN}};
    int wait = until <= 0   ? -1
               : left > 1e6 ? 1000000000
                            : (int)(left * 1e3) + 1;
    int ready = poll(fds, 2, wait);
    if (ready > 0) return !fds[1].revents;
    if (ready < 0 && errno != EINTR) return false;
  }
}

/* Reads what the command prints into `text`.  The reason why it had to be
 * ended, or NULL. */
static const char *collect(int in, int woken, double until, FILE *text) {
  size_t len = 0;
  while (wait_for_output(in, woken, until)) {
    char piece[65536];
    ssize_t n = read(in, piece, sizeof piece);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return NULL;
    len += (size_t)n;
    if (len > OUTPUT_MAX) return "it prints more than 64 MiB";
    fwrite(piece, 1, (size_t)n, text);
  }
  return ended_by ? "rly is ended" : "the time limit was reached";
}

static void close_both(const int ends_of_pipe[2]) {
  close(ends_of_pipe[0]);
  close(ends_of_pipe[1]);
}

/* By a program of the system's. */
static void remove_folder(const char *folder) {
  pid_t child = fork();
  if (child == 0) {
    execl("/bin/rm", "rm", "-rf", folder, (char *)NULL);
    _exit(127);
  }
  while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
}

/* Ends this process in the way the signal does. */
static void end_by_signal(const char *folder) {
  remove_folder(folder);
  signal(ended_by, SIG_DFL);
  raise(ended_by);
}

/* What the line prints, as a text to be freed; NULL when it cannot be run. */
static char *output_of(const char *folder, const char *line, double timeout) {
  int ends_of_pipe[2], wake[2];
  if (!system_pipe(ends_of_pipe)) return NULL;
  if (!system_pipe(wake)) return close_both(ends_of_pipe), NULL;
  char *text = NULL;
  size_t len = 0;
  FILE *out = open_memstream(&text, &len);
  struct sigaction before[END_COUNT];
  wakes = wake[1];
  watch_ends(before);
  pid_t shell = out ? fork() : -1;
  if (shell == 0) become_shell(folder, line, ends_of_pipe[1]);
  close(ends_of_pipe[1]);
  if (shell > 0) {
    setpgid(shell, shell); /* here, too: whichever of the two comes first */
    group = shell;
    double until = timeout > 0 ? clock_seconds() + timeout : 0;
    const char *why = collect(ends_of_pipe[0], wake[0], until, out);
    if (why) kill(-shell, SIGKILL);
    while (waitpid(shell, NULL, 0) < 0 && errno == EINTR) continue;
    group = 0;
    if (why) fprintf(out, "rly: the command was ended: %s\n", why);
  }
  unwatch_ends(before);
  close(ends_of_pipe[0]);
  close_both(wake);
  if (ended_by) end_by_signal(folder);
  if (out && fclose(out) == 0 && shell > 0) return text;
  free(text);
  return NULL;
}

/* Runs `command` with the file `in` as its stdin.  `exec` in the first line
 * redirects the shell itself, hence all commands after it.  The file's name is
 * ours ("/dev/null", or made by mkstemp), so the quotation marks hold. */
static char *run(const char *folder, const char *command, const char *in,
                 double timeout) {
  size_t len = strlen(command) + strlen(in) + 32;
  char *line = find_ourselves() ? malloc(len) : NULL;
  if (!line) return NULL;
  snprintf(line, len, "exec 2>&1 <'%s'\n%s", in, command);
  char *text = output_of(folder, line, timeout);
  free(line);
  return text;
}

char *console_command(const char *folder, const char *command, double timeout) {
  return run(folder, command, "/dev/null", timeout);
}

char *console_session(const char *folder, const char *entries, double timeout) {
  char path[USER_PATH_MAX];
  user_temporary("rly-session-XXXXXX", path);
  int fd = mkstemp(path);
  if (fd < 0) return NULL;
  size_t len = strlen(entries);
  bool written = write(fd, entries, len) == (ssize_t)len;
  close(fd);
  char *text = written ? run(folder, "rly repl", path, timeout) : NULL;
  unlink(path);
  return text;
}

/* --- The folder of a page ------------------------------------------------- */

/* A link in `folder` to what is here under `name`. */
static bool link_here(const char *folder, const char *here, const char *name) {
  char *from = NULL, *to = NULL;
  bool ok = asprintf(&from, "%s/%s", folder, name) >= 0 &&
            asprintf(&to, "%s/%s", here, name) >= 0 && symlink(to, from) == 0;
  free(from);
  free(to);
  return ok;
}

static bool link_all(const char *folder) {
  char *here = realpath(".", NULL);
  DIR *all = here ? opendir(here) : NULL;
  bool ok = all != NULL;
  for (struct dirent *e; ok && (e = readdir(all));)
    if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
      ok = link_here(folder, here, e->d_name);
  if (all) closedir(all);
  free(here);
  return ok;
}

char *console_folder_new(void) {
  char path[USER_PATH_MAX];
  user_temporary("rly-page-XXXXXX", path);
  char *folder = strdup(path);
  if (!folder || !mkdtemp(folder)) {
    free(folder);
    return NULL;
  }
  if (link_all(folder)) return folder;
  console_folder_drop(folder);
  return NULL;
}

void console_folder_drop(char *folder) {
  if (folder) remove_folder(folder);
  free(folder);
}
