/* Where the user's own files are: the XDG Base Directory Specification.
 *
 *   state    $XDG_STATE_HOME/rly/    or ~/.local/state/rly/    the history
 *   config   $XDG_CONFIG_HOME/rly/   or ~/.config/rly/         startup.rly
 *
 * As that specification demands, a variable whose value is not an absolute path
 * counts as not set.  Where HOME is not absolute either, there is no place, and
 * the program does without.
 *
 * Temporary files go to $TMPDIR, or to /tmp.
 *
 * Linux tells in /proc where the program is. */
#include "repl/user.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/inside.h"

enum { NAME_MOST = 32 };

/* The folder's path.  Room for a slash and a name of NAME_MOST stays after it.
 * Without a place n is USER_PATH_MAX, so the answer is false. */
static bool folder(const char *variable, const char *below_home,
                   char path[USER_PATH_MAX]) {
  const char *base = getenv(variable), *home = getenv("HOME");
  int n = USER_PATH_MAX;
  if (base && base[0] == '/') n = snprintf(path, USER_PATH_MAX, "%s/rly", base);
  else if (home && home[0] == '/')
    n = snprintf(path, USER_PATH_MAX, "%s/%s/rly", home, below_home);
  return n < USER_PATH_MAX - NAME_MOST;
}

/* Makes a folder and its parents.  Each slash is cut to a NUL for a moment.
 * Failures are not looked at: what matters is whether the file can then be
 * opened.  0700, as the specification demands. */
static void make_folders(char *path) {
  for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
    *p = '\0';
    mkdir(path, 0700);
    *p = '/';
  }
  mkdir(path, 0700);
}

static void add_name(char *path, const char *name) {
  strcat(path, "/");
  strncat(path, name, NAME_MOST - 2);
}

bool user_state_file(const char *name, bool make, char path[USER_PATH_MAX]) {
  if (!folder("XDG_STATE_HOME", ".local/state", path)) return false;
  if (make) make_folders(path);
  add_name(path, name);
  return true;
}

bool user_config_file(const char *name, char path[USER_PATH_MAX]) {
  if (!folder("XDG_CONFIG_HOME", ".config", path)) return false;
  add_name(path, name);
  return true;
}

char *user_file_words(const char *words) {
  const char *home = getenv("HOME"), *end = NULL;
  if (*words == '"' || *words == '\'') end = strchr(words + 1, *words);
  const char *file = end ? words + 1 : words;
  int n = end ? (int)(end - file) : (int)strlen(file);
  bool at_home = n > 1 && !strncmp(file, "~/", 2) && home && *home == '/';
  char *made;
  return asprintf(&made, "%s%.*s%s", at_home ? home : "", n - at_home,
                  file + at_home, end ? end + 1 : "") < 0
             ? NULL
             : made;
}

/* An absolute path without a character that the shell splits or expands. */
static bool is_plain_folder(const char *path) {
  if (!path || *path != '/') return false;
  for (; *path; path++)
    if (!isalnum((unsigned char)*path) && !strchr("/._-+,:@%=", *path) &&
        (unsigned char)*path < 0x80)
      return false;
  return true;
}

/* A TMPDIR that is not plain counts as not set, since temporary files are named
 * in commands of the shell. */
void user_temporary(const char *name, char path[USER_PATH_MAX]) {
  const char *folder = getenv("TMPDIR");
  if (!is_plain_folder(folder) || strlen(folder) > USER_PATH_MAX - NAME_MOST)
    folder = "/tmp";
  snprintf(path, USER_PATH_MAX, "%s/%s", folder, name);
}

bool own_folder(char path[USER_PATH_MAX]) {
  if (!system_program(path, USER_PATH_MAX)) return false;
  *strrchr(path, '/') = '\0';
  return true;
}
