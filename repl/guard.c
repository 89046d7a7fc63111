/* See guard.h. */
#include "repl/guard.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/inside.h"

#define GUARD_GRACE 0.5 /* seconds */

static Deadline deadline;
static const char *work;
static double limit; /* seconds */

/* In the watching thread: the main one may be anywhere, so nothing is flushed
 * or freed.  A file half-written was not renamed yet. */
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
  _exit(3);
}

void guard_begin(const Cli *cli, const char *doing) {
  limit = cli->limits.timeout;
  work = doing;
  double seconds = limit > 0 ? limit + GUARD_GRACE : 0;
  deadline_start(&deadline, seconds, end_process, NULL);
}

void guard_end(void) { deadline_end(&deadline); }
