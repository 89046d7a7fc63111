/* The interior of the stepper: what its files share. */
#ifndef STEPPER_INSIDE_H
#define STEPPER_INSIDE_H

#include "smallstep/step_machine.h"
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
  BREAK_LINE,
} BreakKind;

typedef struct Break {
  BreakKind kind;
  char *text;    /* the text of the breakpoint as it was given; owned */
  unsigned line; /* BREAK_LINE: in the file whose path ends in `path` */
  size_t path_len;
  int op, rank;
  int64_t shape[RANK_MAX];
} Break;

/* The span of a global's function. */
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
  VEC(Home) homes; /* ascending; of the units up to this: */
  const Unit *last;
  unsigned folds; /* the folded kinds, as bits */
  uint64_t passed, folded[FOLD_COUNT];
  const Break *hit;
  bool (*asked)(void *data);
  void *asked_data;
  StepTruth (*holds)(void *data, const char *text);
  void *holds_data;
  uint64_t max_depth;
};

/* The redex of a rule: what it is applied to. */
typedef struct Redex {
  const Expr *expr;     /* NULL: a global's definition */
  const StepObj *frame; /* the frame that waited for the value; NULL: `expr`
                           itself is evaluated */
  const StepObj *value; /* the value that the frame received */
  StepObj *env;
  int count; /* the values of children */
} Redex;

/* The index of the first home that begins at `place` or behind it. */
size_t stepper_home_from(const Stepper *s, uint32_t place);
const StepEntry *stepper_entry(
    const Stepper *s); /* NULL: before the first entry */
Redex redex_of(const StepEntry *e);
/* The value of child `i` < count. */
const StepObj *redex_child(const Redex *r, int i);
/* The operator that is applied or the function that is called; or NULL. */
const Expr *redex_operator(const Redex *r);
const StepObj *redex_callee(const Redex *r);
/* After a step of a sweep (select_sweeps): its frame, whose sweep says what was
 * done. */
const StepObj *redex_did(const StepEntry *e);

/* --- select.c ------------------------------------------------------------ */

/* Is it a step of a sweep, at an operator that was recorded? */
bool select_sweeps(const StepEntry *e);
/* Whether the rule's application is a step of this kind. */
bool select_takes(const Stepper *s, const StepEntry *e, StepFold kind);
/* The first folded kind that the step belongs to; FOLD_COUNT: none. */
StepFold select_fold(const Stepper *s, const StepEntry *e);
/* The environment that the rule's bindings are put in front of: for a call, the
 * function's own. */
const StepObj *select_env_before(const StepEntry *e);
/* The first breakpoint that the entry meets, or NULL. */
const Break *select_break(Stepper *s);

/* --- brief.c ------------------------------------------------------------- */

/* A value on one line of about `width` columns. */
void brief_value(Stepper *s, StrBuf *out, const StepObj *v, int width);
/* Bytes of a type in the stepper's texts: whole, for all that people write. */
enum { STEP_TYPE_WIDTH = 100000 };
/* The same with its type: "3 (int32)", "Tensor[(2), int32] [1, 2]".  `type` is
 * the static type, used where the value does not determine its own; or NULL. */
void brief_typed(Stepper *s, StrBuf *out, const StepObj *v, const Type *type);
/* The type that the value itself tells; NULL: it does not. */
const Type *brief_type(Stepper *s, const StepObj *v);
/* Truncates the text to `len`. */
void brief_cut(StrBuf *out, size_t len);
/* The global whose function this is, or NULL. */
const Global *brief_global(const Stepper *s, const Expr *fn);

/* --- text.c -------------------------------------------------------------- */

/* Whether the value is a function and the expression is its name. */
bool text_is_name(const Expr *e, const StepObj *v);
/* The end of the current function at `state`: the first frame of another
 * function; NULL: none. */
const StepObj *text_boundary(const StepState *state);
/* The first frame after those of the function that waits at `f`. */
const StepObj *text_behind(const StepObj *f);
/* The expression that frame `f` waits for; NULL if it is no part of the frame's
 * text. */
const Expr *text_awaited(const StepObj *f);
/* "@fact", or of what was made of an operator's rule "the rule of sum". */
void text_add_function(StrBuf *out, const Global *g);
/* The global whose text contains `e`, or NULL. */
const Global *text_home(const Stepper *s, const Expr *e);
/* After a step of a sweep: the expression that the sweep stands at, and in
 * *operand the part of it whose adjoint changed; or NULL. */
const Expr *text_swept(const StepEntry *e, const Expr **operand);
void text_view(Stepper *s, const StepEntry *e, StepView *v);
/* The text after the rule, and the function that it is the body of. */
void text_becomes(Stepper *s, const StepEntry *e, StepText *out,
                  StrBuf *inside);

/* --- frames.c ------------------------------------------------------------ */

/* A function under way: its environment, and the expression that it evaluates
 * or waits for. */
typedef struct StepLevel {
  StepObj *env;
  const Expr *at; /* NULL: a definition's value */
  Span span;
} StepLevel;

/* Level `n`, 0 the innermost, after the names that the step binds are bound.
 * False: there is no such level. */
bool frames_level(Stepper *s, size_t n, StepLevel *out);
/* Calls `visit` for each variable of the environment that is not hidden by a
 * newer one, the newest first, until it returns false. */
void frames_each_var(Stepper *s, StepObj *env,
                     bool (*visit)(void *data, const Var *var,
                                   const StepObj *value),
                     void *data);

/* --- say.c --------------------------------------------------------------- */

void say_step(Stepper *s, const StepEntry *e, StrBuf *out);
void say_cells(Stepper *s, const StepEntry *e, StrBuf *out);
/* The cell that the step made or wrote to, and what it held before (NULL: it is
 * new).  NULL: none. */
const StepObj *say_changed(const Stepper *s, const StepEntry *e,
                           const StepObj **was);
/* Calls `visit` for the first `most` cells by their numbers, and for `changed`
 * (or NULL); `before`: how many cells it has been called for.  Gives how many
 * cells are left out. */
typedef void CellVisit(void *data, const StepObj *cell, uint64_t before);
uint64_t say_each_cell(Stepper *s, const StepObj *changed, uint64_t most,
                       CellVisit *visit, void *data);

#endif
