/* The time limit of work that cannot be asked to stop (guard.h): a thread waits
 * for the deadline and ends the whole process.
 *
 * To end the process is safe here because of what is under guard: reading,
 * printing and writing by rename leave either the old file or the new one.  It
 * is also the only way, since the main thread may be inside read(2) on a pipe
 * that nobody writes, or in jansson.
 *
 * The state is static because there is one process to end. */
#include "repl/guard.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/inside.h"

/* A program that runs is asked to stop at the limit itself and then reports
 * where it was.  The grace gives it time to do so, for its message says more
 * than this one. */
#define GUARD_GRACE 0.5 /* seconds */

static Deadline deadline;
static const char *work;
static double limit; /* seconds */
static int depth;    /* guards within one another */

/* Runs in the watching thread.  The main thread may be anywhere, so nothing is
 * flushed or freed.  A file half-written was not renamed yet.  write(2) and
 * _exit(2) are async-signal-safe and take no lock of stdio, which the main
 * thread may hold.  exit() would run its handlers beside the main thread. */
static void end_process(void *unused) {
  (void)unused;
  char text[160];
  size_t n = sizeof text;
  if (deadline.unwatched)
    snprintf(text, n,
             "error[E0703]: a time limit needs a thread, and none "
             "could be made\n");
  else
    snprintf(text, n, "error[E0703]: time limit of %g s reached while %s\n",
             limit, work);
  n = strlen(text);
  ssize_t written = write(STDERR_FILENO, text, n);
  (void)written;
  _exit(EXIT_LIMIT);
}

void guard_begin(const Cli *cli, const char *doing) {
  if (depth++) return;
  limit = cli->limits.timeout;
  work = doing;
  double seconds = limit > 0 ? limit + GUARD_GRACE : 0;
  deadline_start(&deadline, seconds, end_process, NULL);
}

void guard_end(void) {
  if (!--depth) deadline_end(&deadline);
}
