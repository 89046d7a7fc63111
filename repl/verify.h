/* rly verify: what its files share. */
#ifndef REPL_VERIFY_H
#define REPL_VERIFY_H

#include "lib/inside.h"
#include "repl/cli.h"

/* How far the results of two sides are apart. */
typedef struct Distance {
  uint64_t ulps;   /* the most of any float; 0 of what is equal */
  bool apart;      /* more than that: another shape, integer, NaN or error */
  double relative; /* the most, of finite floats; by the greatest element */
  int64_t at;      /* the first element that differs; -1: none, or no element */
  int field;       /* in which tensor of the result */
  bool undefined;  /* the left side is no real number */
  bool late;       /* a side did not end in time: nothing is known */
  double allowed;  /* of `relative`, at grade real */
} Distance;

/* A program with the definitions that the rule uses, to which instances are
 * added. */
typedef struct Bench {
  rly_program *program;
  rly_session *session;
} Bench;

/* A rule under test: its instances are functions of programs of its own. */
typedef struct Subject {
  Host *h;
  Rule rule;
  Bench narrow, wide; /* `wide`: for grade real, where the definitions compute
                         in float64; made when it is needed */
  bool in_c;          /* it uses an operator in C, whose types are as they are:
                         then grade real is tried in these, too */
  double budget;      /* seconds that a side may take */
  Arena arena;        /* of the instance at hand */
  const char *left, *right; /* what its sides are called as functions: nothing
                               that the rule uses has a name that begins so */
  int made;                 /* instances, for their names */
} Subject;

/* How an instance is drawn: the same twice for the same origin. */
typedef struct Origin {
  Rng rng;
  DrawSize size;
  bool real; /* for grade real: numbers near 1, in float64 */
} Origin;

typedef struct Instance {
  Origin origin;
  Draw draw;
  const rly_function *left, *right; /* right NULL: it has no type there */
  void **elements;                  /* by variable: those of the trial */
} Instance;

/* --- verify_run.c --------------------------------------------------------- */

/* False when memory runs out. */
bool subject_start(Subject *s, Host *h, const Item *item, double budget);
void subject_end(Subject *s);
/* Where an instance is, for grade real or another; NULL: memory ran out. */
Bench *subject_bench(Subject *s, bool real);
/* Appends the definitions that the rule uses. */
void subject_print_used(const Subject *s, StrBuf *out);
/* Draws an instance; the one before it is gone.  False: its condition does not
 * hold, a side has an attribute without a value, or the left side no type. */
bool instance_make(Subject *s, Origin origin, Instance *out);
/* Fills the elements of all variables. */
void instance_fill(const Instance *i, Rng *r, int trial);
/* Evaluates both sides; false when memory runs out. */
bool instance_run(Subject *s, const Instance *i, Distance *out);
/* Does the distance keep the grade? */
bool distance_keeps(const Distance *d, RuleGrade grade);

/* --- verify_shrink.c ------------------------------------------------------ */

/* Replaces a refutation by a smaller one with simpler numbers; false when
 * memory runs out, which leaves no instance. */
bool instance_shrink(Subject *s, Instance *i, RuleGrade grade);
/* Appends the instance as a program, with what both sides give. */
void instance_print(Subject *s, const Instance *i, StrBuf *out);

#endif
