/* The dependencies between the steps of a program: after an edit, which steps
 * have to be evaluated again, and which would give the same values as before.
 */
#ifndef LIB_DEPENDS_H
#define LIB_DEPENDS_H

#include "lib/handles.h"

enum { NO_STEP = -1 };

typedef VEC(Span) Spans;

typedef struct StepNeeds {
  const Step *step; /* NULL: the call of the entry */
  /* A hash of all that decides what the step gives and prints: its text, that
   * of the definitions that it reaches, the keys of the values that it reaches
   * and of the step before that may have changed the same cells. */
  uint64_t key;
  Spans texts;     /* of which the key is a hash: the step's own, then those
                      of the definitions that it reaches, in an order that
                      depends on these texts alone */
  VEC(int) values; /* the steps of the session's values that it reaches */
  int before;      /* the step before, among those of the same cells; or none */
  int family;      /* the same number for steps that may share cells */
} StepNeeds;

typedef struct Depends {
  Mem *mem;
  /* of all units, in the order of evaluation; with an entry, those of values
   * alone, and then its call */
  VEC(StepNeeds) steps;
} Depends;

/* `entry` is the function that is called after the values, or NULL.  A run with
 * `cells` and one without have different keys, since only the record of the
 * first tells what cells held.  False when the keys do not tell all, since the
 * host has operators of its own, the entry is the library's, or memory ran out.
 * depends_done() is due in any case. */
bool depends_find(rly_session *s, const Global *entry, bool cells, Depends *d);
void depends_done(Depends *d);

/* What is to be done about a step. */
typedef enum StepPlan {
  PLAN_SAY,     /* say what the record says; no value is kept */
  PLAN_HAVE,    /* say what the record says; the value is kept */
  PLAN_FETCH,   /* the same, and set the value to what is kept */
  PLAN_FETCHED, /* the same, and the value has been set */
  PLAN_RUN,     /* evaluate the step */
} StepPlan;

/* `plan` has a plan for each step.  For those that are to run, the steps before
 * them of the same cells are to run, too, and so are the steps whose values
 * they reach, but for values that are kept: these are to be fetched. */
void depends_demand(const Depends *d, StepPlan *plan);

#endif
