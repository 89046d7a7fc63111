/* Instances of rules by chance: shapes, among them empty ones and those that
 * broadcast, dtypes, attributes and constants. */
#ifndef RULES_DRAW_H
#define RULES_DRAW_H

#include "rules/instance.h"

/* A generator (Steele et al., SplitMix64): equal seeds draw alike. */
typedef struct Rng {
  uint64_t state;
} Rng;
uint64_t rng_next(Rng *r);
/* From 0 to n - 1. */
int rng_below(Rng *r, int n);

/* What a variable is: a tensor's dtype and shape. */
typedef struct VarDraw {
  bool tensor; /* false: of another type, of which nothing is drawn */
  DType dtype;
  int rank;
  int64_t shape[RANK_MAX];
  int64_t count;            /* elements */
  const AttrExpr *constant; /* the value that all elements have; NULL: any */
} VarDraw;

typedef struct Draw {
  RuleBound bound;
  VarDraw *vars;
  int64_t elements; /* of all variables */
} Draw;

/* How large dimensions are drawn. */
typedef enum DrawSize { DRAW_SMALL, DRAW_ALL } DrawSize;

/* Draws shapes, dtypes, attributes and constants.  False: the condition does
 * not hold of them, an axis is negative, a tensor is too large; draw again. */
bool rule_draw(Program *p, Arena *arena, const Rule *rule, Rng *r,
               DrawSize size, Draw *out);
/* The same with float64 in the place of every dtype of floats. */
bool rule_draw_wide(Program *p, Arena *arena, const Rule *rule, Rng *r,
                    DrawSize size, Draw *out);

#endif
