/* Runs the commands and prompt entries of a page as a reader would: in a shell,
 * in the folder where the tests run.
 *
 * A command runs in a shell with stderr joined to stdout and stdin empty.
 * Entries of the prompt are written to a file that becomes the stdin of `rly
 * repl`.  `rly` is this very program, because its folder is put in front of
 * PATH.
 *
 * What a page says is executed with the user's rights.  So the caller asks
 * first whether that was wanted (--shell, and not --safe). */
#include "repl/test_console.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Puts this program's folder first in PATH.  Returns false on failure. */
static bool find_ourselves(void) {
  char self[4096];
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  if (n <= 0) return false;
  self[n] = '\0';
  *strrchr(self, '/') = '\0';
  const char *path = getenv("PATH");
  size_t len = strlen(path ? path : "");
  if (path && !strncmp(path, self, strlen(self))) return true;
  char *longer = malloc((size_t)n + len + 2);
  if (!longer) return false;
  sprintf(longer, "%s:%s", self, path ? path : "");
  bool ok = setenv("PATH", longer, 1) == 0;
  free(longer);
  return ok;
}

/* Reads a stream to its end.  The caller frees the text. */
static char *read_stream(FILE *in) {
  char *text = NULL;
  size_t cap = 0;
  ssize_t n = getdelim(&text, &cap, '\0', in);
  if (n >= 0) return text;
  free(text);
  return calloc(1, 1);
}

/* Runs `command` with the file `in` as its stdin. */
static char *run(const char *command, const char *in) {
  size_t len = strlen(command) + strlen(in) + 32;
  char *line = find_ourselves() ? malloc(len) : NULL;
  if (!line) return NULL;
  snprintf(line, len, "exec 2>&1 <'%s'\n%s", in, command);
  FILE *stream = popen(line, "r");
  free(line);
  if (!stream) return NULL;
  char *text = read_stream(stream);
  pclose(stream);
  return text;
}

char *console_command(const char *command) { return run(command, "/dev/null"); }

char *console_session(const char *entries) {
  char path[] = "/tmp/rly-session-XXXXXX";
  int fd = mkstemp(path);
  if (fd < 0) return NULL;
  size_t len = strlen(entries);
  bool written = write(fd, entries, len) == (ssize_t)len;
  close(fd);
  char *text = written ? run("rly repl", path) : NULL;
  unlink(path);
  return text;
}
