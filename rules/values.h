/* Values of the variables of rules, by chance: the edges of each dtype, and
 * ordinary numbers. */
#ifndef RULES_VALUES_H
#define RULES_VALUES_H

#include "rules/draw.h"

/* How elements are filled. */
typedef enum DrawFill {
  FILL_EDGE,  /* all the same edge value, the `turn`-th */
  FILL_EDGES, /* edge values by chance */
  FILL_MIXED, /* edges among ordinary numbers */
  FILL_WHOLE, /* small whole numbers, of which sums are exact */
  FILL_PLAIN, /* ordinary numbers, which sums and products keep in range */
} DrawFill;
enum { DRAW_EDGES = 12 };
/* The i-th edge value of the dtype, simplest first. */
Value draw_edge(DType dtype, int i);
/* Fills `count` elements, row-major. */
void draw_values(Rng *r, DType dtype, DrawFill fill, int turn, int64_t count,
                 void *out);

#endif
