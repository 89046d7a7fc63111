/* What is longer than the screen goes through a pager, at a terminal. */
#ifndef REPL_PAGER_H
#define REPL_PAGER_H

#include <stdbool.h>

/* Keeps back what is written to stdout until pager_end, which shows it: with
 * lines that are too wide broken between words, and by $PAGER, or less, if it
 * has more rows than the screen.  False, and nothing
 * happens, where stdout or stdin is no terminal or a dumb one, where something
 * is kept back already, or if it is not `wanted`. */
bool pager_begin(bool wanted);
void pager_end(void);
/* Shows what was kept back at once, and keeps nothing more back: a program is
 * about to print, or the user about to be asked. */
void pager_stop(void);

#endif
