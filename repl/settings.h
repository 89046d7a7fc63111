/* What `:set` chooses: how much of values is shown, and how. */
#ifndef REPL_SETTINGS_H
#define REPL_SETTINGS_H

#include <stdbool.h>

typedef struct Settings {
  int depth;     /* of a tree's nodes that are shown with their parts */
  int rows;      /* of one value */
  int width;     /* columns of values; 0: the terminal's */
  int precision; /* significant digits of floats; 0: all */
  int pager;     /* 1: what is longer than the screen goes through one */
} Settings;

extern const Settings settings_initial;

enum { SETTINGS_WHY = 128 };

/* Changes a setting, `depth 5`.  False: there is no such setting, or it takes
 * no such value; then `why` says what there is, or what it takes. */
bool settings_change(Settings *s, const char *words, char why[SETTINGS_WHY]);
/* The i-th setting's name; NULL: there is none. */
const char *settings_name(int i);
/* The i-th setting as a line of text, into `line`; false: there is none. */
bool settings_line(const Settings *s, int i, char line[80]);

#endif
