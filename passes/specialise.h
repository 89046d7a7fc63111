/* Shapes and values that are given for the parameters of a program. */
#ifndef PASSES_SPECIALISE_H
#define PASSES_SPECIALISE_H

#include "ir/program.h"

/* What is given for a parameter of the entry or for a `param`. */
typedef struct Given {
  const Name *name;
  bool is_param; /* it was written `@x` */
  Span span;     /* of the name, and of what follows `=` */
  Span what;
  int rank;
  int64_t shape[RANK_MAX];
  struct Tensor *value; /* a constant of the program; NULL: the shape alone */
} Given;

/* Reads `x=(8, 128)`: the name, and the shape.  Messages show the text by the
 * name of `where`.  False after reporting what is wrong with it. */
bool given_read_shape(Program *p, const char *where, const char *text,
                      Given *out);
/* Reads `x=FILE`.  *file is what follows `=`; it lives as long as `text`. */
bool given_read_file(Program *p, const char *where, const char *text,
                     Given *out, const char **file);
/* Gives it a value, which becomes the program's.  False when memory runs
 * out. */
bool given_take(Program *p, Given *g, struct Tensor *value);

/* Makes of a parsed unit the program for what is given.  `entry` NULL: @main,
 * where there is one.  A parameter with a shape has it in its type, and the
 * names of dimensions are numbers that follow from it; one with a value is no
 * parameter any more, but a `let`.  False after reporting a name that is
 * nobody's, or what contradicts the types. */
bool specialise(Program *p, Unit *u, const Name *entry, int count,
                const Given *given);

#endif
