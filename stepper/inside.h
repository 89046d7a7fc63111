/* The inside of the stepper: what its files share. */
#ifndef STEPPER_INSIDE_H
#define STEPPER_INSIDE_H

#include "interp/step_machine.h"
#include "stepper/stepper.h"

typedef struct Job {
  const Step *step; /* or NULL */
  const Global *entry;
  const StepObj *args;
} Job;

typedef enum BreakKind {
  BREAK_NAME,
  BREAK_OP,
  BREAK_SHAPE,
  BREAK_NAN,
} BreakKind;

typedef struct Break {
  BreakKind kind;
  char *text; /* as it was given; owned */
  int op, rank;
  int64_t shape[RANK_MAX];
} Break;

/* Where a global's function stands. */
typedef struct Home {
  Span span;
  const Global *global;
} Home;

struct Stepper {
  Program *program;
  Mem *mem;
  StepMachine *machine;
  VEC(Job) jobs;
  VEC(Break) breaks;
  VEC(Home) homes; /* ascending */
  unsigned folds;  /* bits */
  uint64_t passed, folded[FOLD_COUNT];
  const Break *hit;
  bool (*asked)(void *data);
  void *asked_data;
  uint64_t max_depth;
  PtrMap delayed; /* a graph node's expression -> its Binding */
};

/* What a rule is applied to. */
typedef struct Redex {
  const Expr *expr;     /* NULL: a global's definition */
  const StepObj *frame; /* that waited for the value; NULL: it is `expr` that
                           is looked at */
  const StepObj *value; /* that came to it */
  StepObj *env;
  int count; /* children that have values */
} Redex;

const StepEntry *stepper_entry(const Stepper *s); /* NULL: before the first */
Redex redex_of(const StepEntry *e);
/* The value of child `i` < count. */
const StepObj *redex_child(const Redex *r, int i);
/* The operator that is applied, the function that is called; or NULL. */
const Expr *redex_operator(const Redex *r);
const StepObj *redex_callee(const Redex *r);

/* --- select.c ------------------------------------------------------------ */

/* Is the rule's application of this kind? */
bool select_takes(const Stepper *s, const StepEntry *e, StepFold kind);
/* The first kind that takes it and is folded; FOLD_COUNT: none. */
StepFold select_fold(const Stepper *s, const StepEntry *e);
/* The first breakpoint that the entry meets; or NULL. */
const Break *select_break(const Stepper *s, const StepEntry *e);

/* --- brief.c ------------------------------------------------------------- */

/* A value on one line of about `width` columns. */
void brief_value(Stepper *s, StrBuf *out, const StepObj *v, int width);
/* The same with its type: "3 (int32)", "Tensor[(2), int32] [1, 2]".  `type`
 * is the static one, for what does not tell its own; or NULL. */
void brief_typed(Stepper *s, StrBuf *out, const StepObj *v, const Type *type);
/* Takes away what stands behind `len`. */
void brief_cut(StrBuf *out, size_t len);
/* The global whose function this is, or NULL. */
const Global *brief_global(const Stepper *s, const Expr *fn);

/* --- text.c -------------------------------------------------------------- */

/* Is the value of a function, and the expression its name? */
bool text_is_name(const Expr *e, const StepObj *v);
/* Where the function that is under way at `state` ends: the first frame of
 * another; NULL: none. */
const StepObj *text_boundary(const StepState *state);
void text_view(Stepper *s, const StepEntry *e, StepView *v);

/* --- say.c --------------------------------------------------------------- */

void say_step(Stepper *s, const StepEntry *e, StrBuf *out);
void say_cells(Stepper *s, const StepEntry *e, StrBuf *out);

#endif
