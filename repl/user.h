/* Where the user's own files are, by the XDG base directories, where temporary
 * ones go, and where the program is. */
#ifndef REPL_USER_H
#define REPL_USER_H

#include <stdbool.h>

enum { USER_PATH_MAX = 4096 };

/* $XDG_STATE_HOME/rly/NAME or ~/.local/state/rly/NAME, with the folder made
 * when that is asked for; $XDG_CONFIG_HOME/rly/NAME or ~/.config/rly/NAME.
 * False when nothing says where it should be. */
bool user_state_file(const char *name, bool make, char path[USER_PATH_MAX]);
bool user_config_file(const char *name, char path[USER_PATH_MAX]);
/* $TMPDIR/NAME or /tmp/NAME, for mkstemp() and its kin.  The path of a `name`
 * of letters, digits, `-`, `_` and `.` is a word of the shell as it is. */
void user_temporary(const char *name, char path[USER_PATH_MAX]);
/* The words of a command whose first is a file, as a shell would read that one:
 * without the quotes around it, and with the user's home for `~/`.  Owned; NULL
 * without memory. */
char *user_file_words(const char *words);
/* The folder that this program itself is in. */
bool own_folder(char path[USER_PATH_MAX]);

#endif
