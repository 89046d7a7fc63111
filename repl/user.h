/* Where the user's own files are, by the XDG base directories, and where the
 * program is. */
#ifndef REPL_USER_H
#define REPL_USER_H

#include <stdbool.h>

enum { USER_PATH_MAX = 4096 };

/* $XDG_STATE_HOME/rly/NAME or ~/.local/state/rly/NAME, with the folder made
 * when that is asked for; $XDG_CONFIG_HOME/rly/NAME or ~/.config/rly/NAME.
 * False when nothing says where it should be. */
bool user_state_file(const char *name, bool make, char path[USER_PATH_MAX]);
bool user_config_file(const char *name, char path[USER_PATH_MAX]);
/* The folder that this program itself is in. */
bool own_folder(char path[USER_PATH_MAX]);

#endif
