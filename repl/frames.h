/* The functions under way at a step or an error: where, up, down, and
 * expressions among the variables of one of them. */
#ifndef REPL_FRAMES_H
#define REPL_FRAMES_H

#include "lib/inside.h"
#include "repl/cli.h"

typedef struct Frames {
  Host *host;
  rly_session *session;
  Stepper *stepper; /* NULL: nothing is stopped */
  size_t level;     /* the function that is looked at; 0: the innermost */
} Frames;

/* Lists the functions with their arguments, the one looked at marked. */
void frames_where(const Frames *f);
/* Looks at the next function outward or, with `by` -1, inward. */
void frames_move(Frames *f, int by);
/* Evaluates an expression there and prints its value. */
void frames_evaluate(const Frames *f, const char *text);
/* The function's name, "@f"; "" at the top level. */
void frames_name(const Frames *f, char *out, size_t size);

#endif
